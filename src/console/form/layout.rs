//! What stands beside what in a form. A field that nobody has placed comes after all others, so that a new one is there at once.

use super::spec::Spec;
use crate::console::words::Words;

/// How the form of a resource is laid out.
pub struct Layout {
    /// What is asked for when a thing is made, besides what is required; the rest comes with its form.
    pub create: &'static [&'static str],
    pub sections: &'static [Section],
    /// What is no part of the form, because another screen or another form is for it.
    pub elsewhere: &'static [&'static str],
    /// Texts in Markdown, which are shown as they will look.
    pub markdown: &'static [&'static str],
}

/// Fields that belong together.
pub struct Section {
    pub title: fn(&Words) -> &'static str,
    pub fields: &'static [&'static str],
}

impl Layout {
    /// The fields of each section, in its order, and after them those that have no place.
    pub fn arranged<'s>(&self, specs: &'s [Spec], words: &Words) -> Vec<(&'static str, Vec<&'s Spec>)> {
        let find = |name: &&str| specs.iter().find(|spec| spec.name == **name);
        let mut sections: Vec<(&'static str, Vec<&Spec>)> =
            self.sections.iter().map(|section| ((section.title)(words), section.fields.iter().filter_map(find).collect())).collect();
        let is_placed = |name: &str| self.elsewhere.contains(&name) || self.sections.iter().any(|section| section.fields.contains(&name));
        sections.push((words.forms.more, specs.iter().filter(|spec| !is_placed(&spec.name)).collect()));
        sections.retain(|(_, fields)| !fields.is_empty());
        sections
    }

    /// What is asked for when a thing is made.
    pub fn of_new<'s>(&self, specs: &'s [Spec]) -> Vec<&'s Spec> {
        let asked = self.create.iter().filter_map(|name| specs.iter().find(|spec| spec.name == *name));
        let others = specs.iter().filter(|spec| spec.is_required && !self.create.contains(&spec.name.as_str()));
        others.chain(asked).collect()
    }
}

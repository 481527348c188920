//! The sections of a form. The schema of a field names the section that contains the field. A field
//! without a section comes last. So a new field appears in the form without a change of the layout.

use serde_json::{Map, Value};

use super::spec::{FieldSpec, InputKind};
use crate::words::ConsoleWords;

/// The layout of the form of a resource.
pub struct Layout {
    /// The fields that the form for a new resource shows. Before them, the form shows the required
    /// fields that this list lacks. The form that changes a resource shows all fields except those
    /// in `omitted`.
    pub create: &'static [&'static str],
    pub sections: &'static [Section],
    /// Fields that the form omits because another screen or another form edits them.
    pub omitted: &'static [&'static str],
    /// Fields that contain a Markdown text. The form shows a preview of the text.
    pub markdown: &'static [&'static str],
    /// Fields whose value is a list of names, or a list of rules that each apply to one name. Each
    /// entry has the field and the names for which the console has a label. The form offers these
    /// names; a stored value can also contain other names.
    pub names: &'static [(&'static str, &'static [&'static str])],
    /// Fields that contain rules for the names in another field. For example, `guestFieldRules` has
    /// one rule for each guest field in `requiredGuestFields`. The read operation of the resource
    /// returns neither the rules nor the names. The form can show both fields only if another
    /// operation returned their values.
    pub rules: &'static [RuleLayout],
}

/// The layout of a field that contains rules about other fields. For example, `guestFieldRules` has
/// at most one rule for each guest field that a step requires.
pub struct RuleLayout {
    /// The name of the field that has the rules.
    pub field: &'static str,
    /// The name of the field with a list of names, such as `requiredGuestFields`. The field that
    /// `field` names has at most one rule for each name in this list.
    pub list: &'static str,
    /// Returns a sentence that describes one rule, such as which guests must fill in the guest
    /// field `phone`. The arguments are the texts, their language, the name that the rule applies
    /// to, and the rule.
    pub describe: fn(&ConsoleWords, &str, &str, &Map<String, Value>) -> String,
}

/// A group of fields with a title.
pub struct Section {
    /// Name of the section, as in the extension `x-section` of a field.
    pub name: &'static str,
    pub title: fn(&ConsoleWords) -> &'static str,
}

impl Layout {
    /// Returns the fields of each section, in the order of the sections. A last section contains
    /// the fields without a section, or with a section that this form lacks.
    pub fn arranged<'s>(
        &self,
        specs: &'s [FieldSpec],
        words: &ConsoleWords,
    ) -> Vec<(&'static str, Vec<&'s FieldSpec>)> {
        let mut sections: Vec<(&'static str, Vec<&FieldSpec>)> = self
            .sections
            .iter()
            .map(|section| {
                let is_here = |spec: &&FieldSpec| spec.section() == Some(section.name);
                let mut fields: Vec<&FieldSpec> = specs.iter().filter(is_here).collect();
                fields.sort_by_key(|spec| spec.place.as_ref().map(|place| place.number));
                ((section.title)(words), fields)
            })
            .collect();
        let is_placed = |spec: &&FieldSpec| {
            let has = |name: &str| self.sections.iter().any(|section| section.name == name);
            self.omitted.contains(&spec.name.as_str()) || spec.section().is_some_and(has)
        };
        sections.push((
            words.forms.more,
            specs.iter().filter(|spec| !is_placed(spec)).collect(),
        ));
        sections.retain(|(_, fields)| !fields.is_empty());
        sections
    }

    /// Returns the layout of a field that contains rules about other fields, such as
    /// `guestFieldRules`. Returns `None` if the field contains no such rules.
    pub fn rules_in(&self, field: &str) -> Option<&'static RuleLayout> {
        self.rules.iter().find(|rules| rules.field == field)
    }

    /// Returns whether a field is read by a separate operation, because the read operation of the
    /// resource omits it. The form can show such a field only if the page has called the separate
    /// operation.
    pub fn is_read_elsewhere(&self, field: &str) -> bool {
        self.rules
            .iter()
            .any(|rules| rules.field == field || rules.list == field)
    }

    /// Returns the labelled names of a field whose value contains names, such as names of guest
    /// fields: the names for which the console has a label. Returns `None` for a field whose value
    /// contains no names.
    pub fn names_in(&self, field: &str) -> Option<&'static [&'static str]> {
        self.names
            .iter()
            .find(|(name, _)| *name == field)
            .map(|(_, names)| *names)
    }

    /// Returns the fields of the form that creates a resource: first the required fields that
    /// `create` does not name, then the fields that `create` names.
    pub fn of_new<'s>(&self, specs: &'s [FieldSpec]) -> Vec<&'s FieldSpec> {
        let asked = self
            .create
            .iter()
            .filter_map(|name| specs.iter().find(|spec| spec.name == *name));
        let others = specs
            .iter()
            .filter(|spec| spec.is_required && !self.create.contains(&spec.name.as_str()));
        others.chain(asked).collect()
    }
}

/// Arranges fields in lines. `lines` has the names of the fields in each line. Each field without a
/// line gets a separate line at the end. The parts of a field that is an object are sorted in the
/// order of `lines`.
pub fn in_lines(mut specs: Vec<FieldSpec>, lines: &[&[&str]]) -> Vec<Vec<FieldSpec>> {
    let mut take = |name: &&str| {
        specs
            .iter()
            .position(|spec| spec.name == **name)
            .map(|place| specs.remove(place))
    };
    let mut arranged: Vec<Vec<FieldSpec>> = lines
        .iter()
        .map(|line| line.iter().filter_map(&mut take).collect())
        .collect();
    arranged.extend(specs.into_iter().map(|spec| vec![spec]));
    arranged.retain(|line| !line.is_empty());
    for spec in arranged.iter_mut().flatten() {
        if let InputKind::Object(parts) | InputKind::Objects(parts) | InputKind::Rules(parts) =
            &mut spec.kind
        {
            *parts = in_lines(std::mem::take(parts), lines)
                .into_iter()
                .flatten()
                .collect();
        }
    }
    arranged
}

#[cfg(test)]
mod tests {
    use features::precheck::StepType;
    use serde_json::json;
    use strum::VariantArray as _;
    use vestibule::app::app;

    use super::super::editing::{Resource, form_fields};
    use super::super::spec::{of_object, specs};
    use super::*;
    use crate::brandings::BRANDING;
    use crate::manuals::MANUAL;
    use crate::portals::PORTAL;
    use crate::steps::STEP;
    use crate::words;

    #[test]
    fn fields_follow_the_layout_and_unlisted_fields_come_last() {
        let number = json!({ "type": "integer" });
        let season = json!({ "type": "object", "properties": { "a": number, "z": number } });
        let seasons = json!({ "type": "array", "items": season });
        let schema = json!({
            "properties": { "a": number, "b": seasons, "new": number, "y": number, "z": number },
        });
        let lines = in_lines(
            of_object(&schema, None),
            &[&["z", "a"], &["nothing"], &["b"]],
        );
        let names = |specs: &[FieldSpec]| {
            specs
                .iter()
                .map(|spec| spec.name.clone())
                .collect::<Vec<_>>()
        };
        assert_eq!(
            lines.iter().map(|line| names(line)).collect::<Vec<_>>(),
            [vec!["z", "a"], vec!["b"], vec!["new"], vec!["y"]]
        );
        let InputKind::Objects(parts) = &lines[1][0].kind else {
            panic!("{lines:?}")
        };
        assert_eq!(names(parts), ["z", "a"]);
    }

    /// Returns a line for each section of the form that changes a resource, with the section's
    /// fields in the order of the form. Fields without a section are in the section `more`.
    fn sections(resource: &Resource, step_type: &str) -> String {
        let update = app().operation(resource.update).unwrap();
        let all = specs(update, app().operation(resource.read));
        let base = Map::from_iter([("stepType".to_owned(), step_type.into())]);
        let fields: Vec<FieldSpec> = form_fields(&all, resource.layout, &base).cloned().collect();
        let arranged = resource.layout.arranged(&fields, words::of("en"));
        let lines = arranged.iter().map(|(_, fields)| {
            let names: Vec<&str> = fields.iter().map(|spec| spec.name.as_str()).collect();
            let section = fields[0].section().unwrap_or("more");
            format!("    {section}: {}\n", names.join(" "))
        });
        lines.collect()
    }

    #[test]
    fn the_section_of_each_field_is_recorded() {
        let resources = [
            ("portal", &PORTAL),
            ("branding", &BRANDING),
            ("manual", &MANUAL),
        ]
        .map(|(name, resource)| format!("{name}\n{}", sections(resource, "")));
        let steps = StepType::VARIANTS.iter().map(|step_type| {
            let name = step_type.as_ref();
            format!("step {name}\n{}", sections(&STEP, name))
        });
        let all: String = resources.into_iter().chain(steps).collect();
        insta::assert_snapshot!("sections", all);
    }
}

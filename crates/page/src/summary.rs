//! The list of a form's faults above the form. The browser moves the focus to the list. Each entry
//! of the list links to a field with a fault.

use features::translations::TextLanguages;
use features::words::Words;

use super::fault::{FaultKind, Faults};
use super::fields::PageField;
use super::uploads::Files;

/// The list of a form's faults, shown above the form.
pub struct Summary {
    /// The message that concerns the whole form; `None` if every message belongs to a field.
    pub text: Option<&'static str>,
    pub links: Vec<FaultLink>,
}

/// A link to a field with a fault.
pub struct FaultLink {
    /// The id of the form's element that gets the focus when the guest follows this link.
    pub target: String,
    pub label: String,
    /// The languages of the text in `label`, if `label` is the text of a question. `None` if
    /// `label` is a built-in text.
    pub languages: Option<TextLanguages>,
    pub text: String,
}

impl Summary {
    /// Builds the summary of a form; `None` if the form has no faults. If a fault names a field
    /// that the form does not have, the summary describes a fault of the whole form.
    pub fn of<'f, 'v: 'f>(
        fields: impl Iterator<Item = &'f PageField<'v>>,
        files: Option<&Files<'_>>,
        faults: &Faults,
        text: Option<&'static str>,
        words: &'static Words,
    ) -> Option<Self> {
        let of_field = |field: &PageField<'_>| {
            let text = field.error.clone()?;
            Some(FaultLink {
                target: field.target().to_owned(),
                label: field.label.to_owned(),
                languages: field.languages.cloned(),
                text,
            })
        };
        let of_place = |place: &super::uploads::UploadSlot| {
            let target = place
                .inputs
                .first()
                .map_or_else(|| place.id.clone(), |(id, ..)| id.clone());
            let label = place
                .title
                .clone()
                .unwrap_or_else(|| words.files.choose.to_owned());
            Some(FaultLink {
                target,
                label,
                languages: None,
                text: place.error.clone()?,
            })
        };
        let places = files.into_iter().flat_map(|files| &files.places);
        let links: Vec<FaultLink> = fields
            .filter_map(of_field)
            .chain(places.filter_map(of_place))
            .collect();
        let has_other = faults.0.len() > links.len();
        let guests = faults
            .0
            .iter()
            .any(|fault| fault.kind == FaultKind::Guests)
            .then_some(words.errors.guests_missing);
        let text = text
            .or(guests)
            .or(has_other.then_some(words.errors.not_saved));
        (text.is_some() || !links.is_empty()).then_some(Self { text, links })
    }
}

//! The summary of a form's faults, at the top of the form. It takes the focus, and links to each
//! field.

use super::fault::{Faults, Lack};
use super::fields::Field;
use super::uploads::Files;
use crate::words::Words;

/// The faults of a form.
pub struct Summary {
    /// The fault of the whole form.
    pub said: Option<&'static str>,
    pub links: Vec<Link>,
}

/// A link to a field with a fault.
pub struct Link {
    /// The id of the field.
    pub target: String,
    pub label: String,
    pub said: String,
}

impl Summary {
    /// Builds the summary of a form with these fields; `None` without faults. Faults that belong to
    /// none of the fields become a fault of the whole form.
    pub fn of<'f, 'v: 'f>(
        fields: impl Iterator<Item = &'f Field<'v>>,
        files: Option<&Files<'_>>,
        faults: &Faults,
        said: Option<&'static str>,
        words: &'static Words,
    ) -> Option<Self> {
        let of_field = |field: &Field<'_>| {
            let said = field.error.clone()?;
            Some(Link {
                target: field.target().to_owned(),
                label: field.label.to_owned(),
                said,
            })
        };
        let of_place = |place: &super::uploads::Place| {
            let target = place
                .inputs
                .first()
                .map_or_else(|| place.id.clone(), |(id, ..)| id.clone());
            let label = place
                .title
                .clone()
                .unwrap_or_else(|| words.files.choose.to_owned());
            Some(Link {
                target,
                label,
                said: place.error.clone()?,
            })
        };
        let places = files.into_iter().flat_map(|files| &files.places);
        let links: Vec<Link> = fields
            .filter_map(of_field)
            .chain(places.filter_map(of_place))
            .collect();
        let has_other = faults.0.len() > links.len();
        let guests = faults
            .0
            .iter()
            .any(|fault| fault.lack == Lack::Guests)
            .then_some(words.errors.guests_missing);
        let said = said
            .or(guests)
            .or(has_other.then_some(words.errors.not_saved));
        (said.is_some() || !links.is_empty()).then_some(Self { said, links })
    }
}

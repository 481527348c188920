//! What is wrong with a form, at its head: it takes the focus, and leads to each field.

use super::fault::{Faults, Lack};
use super::fields::Field;
use super::uploads::Files;
use crate::words::Words;

/// What is wrong with a form.
pub struct Summary {
    /// Of all of it.
    pub said: Option<&'static str>,
    pub links: Vec<Link>,
}

/// Where something is wrong.
pub struct Link {
    /// The id of the field.
    pub target: String,
    pub label: String,
    pub said: String,
}

impl Summary {
    /// What is wrong with a form of these fields; nothing where nothing is. What is wrong with no field of it is said of the whole.
    pub fn of<'f, 'v: 'f>(
        fields: impl Iterator<Item = &'f Field<'v>>,
        files: Option<&Files<'_>>,
        faults: &Faults,
        said: Option<&'static str>,
        words: &'static Words,
    ) -> Option<Self> {
        let of_field = |field: &Field<'_>| {
            let said = field.error.clone()?;
            Some(Link { target: field.target().to_owned(), label: field.label.to_owned(), said })
        };
        let of_place = |place: &super::uploads::Place| {
            let target = place.inputs.first().map_or_else(|| place.id.clone(), |(id, ..)| id.clone());
            let label = place.title.clone().unwrap_or_else(|| words.files.choose.to_owned());
            Some(Link { target, label, said: place.error.clone()? })
        };
        let places = files.into_iter().flat_map(|files| &files.places);
        let links: Vec<Link> = fields.filter_map(of_field).chain(places.filter_map(of_place)).collect();
        let has_other = faults.0.len() > links.len();
        let guests = faults.0.iter().any(|fault| fault.lack == Lack::Guests).then_some(words.errors.guests_missing);
        let said = said.or(guests).or(has_other.then_some(words.errors.not_saved));
        (said.is_some() || !links.is_empty()).then_some(Self { said, links })
    }
}

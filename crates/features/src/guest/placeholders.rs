//! Fills the placeholders of texts with the values of a stay and its flat (rules:
//! translations#placeholders).
//!
//! A value is written in the guest's language and is never read as Markdown or HTML. If a
//! placeholder has no value, guests do not see the text that contains it, and the explanation of
//! the guest's view (`explain.rs`) names the placeholder.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use engine::context::Context;
use engine::error::Result as Answer;
use engine::operation::Object;
use engine::typed::is_blank;
use jiff::civil::Time;
use serde::Serialize;
use uuid::Uuid;

use super::manuals::guest_text;
use super::postal::address_lines;
use super::stay::{Stay, StayFlat};
use super::step_view::agreement_text_id;
use crate::markdown;
use crate::precheck::{self, AnswerForm, Step};
use crate::records::{Property, RecordKind, ReservationStatus, record_as};
use crate::translations::{
    Placeholder, StayValue, TextPiece, Texts, custom_fields, has_placeholders, pieces,
};
use crate::words::{DateFormats, dates_in, regional};

/// The text that a preview shows instead of a password.
pub(super) const HIDDEN: &str = "••••••••";
/// The icon of manuals about the wireless network. Only the descriptions of such manuals may
/// contain the password.
pub(super) const WIFI_ICON: &str = "wifi";

/// For each custom field that placeholders name, by its name in lower case: the value at the flat,
/// or the reason why the placeholder has no value.
pub(super) type CustomValues = HashMap<String, Result<String, MissingReason>>;

/// The reason that a placeholder has no value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(super) enum MissingReason {
    /// The stay or the flat has no value for the placeholder.
    NoValue,
    /// No custom field has this name.
    NoField,
    /// Several custom fields have this name.
    SeveralFields,
    /// The placeholder is the password of the wireless network, and the text is not the description
    /// of a manual with the icon `wifi`.
    NotHere,
    /// The placeholder is the password of the wireless network, which guests do not see while the
    /// booking is tentative.
    Tentative,
    /// No placeholder has this name.
    Unknown,
}

/// A placeholder without a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct MissingPlaceholder {
    /// The name of the placeholder, as it is written in the text.
    pub name: String,
    why: MissingReason,
}

impl MissingPlaceholder {
    /// Returns the reason for the missing value as a sentence.
    pub(super) fn message(&self) -> String {
        let name = format!("{{{{{}}}}}", self.name);
        match self.why {
            MissingReason::NoValue => {
                format!("The text names {name}, which has no value for this stay.")
            }
            MissingReason::NoField => {
                format!("The text names {name}, but no custom field has this name.")
            }
            MissingReason::SeveralFields => {
                format!("The text names {name}, but several custom fields have this name.")
            }
            MissingReason::NotHere => {
                format!(
                    "The text names {name}, which may stand only in the description of a manual \
                        with the icon wifi."
                )
            }
            MissingReason::Tentative => {
                format!("The text names {name}, which is not shown while the booking is tentative.")
            }
            MissingReason::Unknown => {
                format!("The text names {name}, which is no known placeholder.")
            }
        }
    }
}

/// The field in which a guest reads a text. It decides whether a placeholder in the text may be
/// replaced by the password of the wireless network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TextPlacement {
    /// The description of a manual with the icon `wifi`. It may contain the network's password.
    WifiManual,
    /// Any other text. It must not contain the network's password.
    Elsewhere,
}

impl TextPlacement {
    /// Returns the placement of the description of a manual whose icon is `icon`.
    pub(super) fn of_icon(icon: Option<&str>) -> Self {
        if icon == Some(WIFI_ICON) {
            Self::WifiManual
        } else {
            Self::Elsewhere
        }
    }
}

/// The values of placeholders, for one stay and one language.
pub(super) struct Values<'s> {
    stay: &'s Stay,
    custom: &'s CustomValues,
    dates: Arc<DateFormats>,
    language: &'s str,
    is_preview: bool,
}

impl<'s> Values<'s> {
    /// Collects the values for a stay. A preview shows [`HIDDEN`] instead of the Wi-Fi password.
    pub(super) fn of(
        stay: &'s Stay,
        custom: &'s CustomValues,
        language: &'s str,
        is_preview: bool,
    ) -> Self {
        let flat = stay.flat.as_deref();
        let country = flat.map(|flat| flat.property.country.as_str());
        Self {
            stay,
            custom,
            dates: dates_in(&regional(language, &[], country)),
            language,
            is_preview,
        }
    }

    /// Returns the language of the values.
    pub(super) const fn language(&self) -> &str {
        self.language
    }

    /// Replaces the placeholders of a plain text by their values. Returns the first placeholder
    /// without a value as the error.
    pub(super) fn plain(
        &self,
        text: &str,
        placement: TextPlacement,
    ) -> Result<String, MissingPlaceholder> {
        self.fill(text, placement, |_, value| value)
    }

    /// Replaces the placeholders of a text in Markdown. Values are escaped, so that they are
    /// rendered as plain text.
    pub(super) fn markdown(
        &self,
        text: &str,
        placement: TextPlacement,
    ) -> Result<String, MissingPlaceholder> {
        self.fill(text, placement, |before, value| {
            markdown::escaped_value(before, &value)
        })
    }

    /// Replaces the placeholders of a text in Markdown, and renders the text as safe HTML. Returns
    /// `None` if the result has no visible content. `language` is the language of the text.
    pub(super) fn html(
        &self,
        text: &str,
        placement: TextPlacement,
        language: &str,
    ) -> Result<Option<String>, MissingPlaceholder> {
        let mut values = Vec::new();
        let marked = self.fill(text, placement, |_, value| {
            values.push(value);
            markdown::mark(values.len() - 1)
        })?;
        Ok(markdown::to_html_with(&marked, &values, Some(language)))
    }

    fn fill(
        &self,
        text: &str,
        placement: TextPlacement,
        mut write: impl FnMut(&str, String) -> String,
    ) -> Result<String, MissingPlaceholder> {
        let mut filled = String::with_capacity(text.len());
        for piece in pieces(text) {
            let name = match &piece {
                TextPiece::Text(part) => {
                    filled.push_str(part);
                    continue;
                }
                TextPiece::Named { name, .. } => *name,
            };
            let value = match piece.placeholder() {
                Some(placeholder) => self.value(&placeholder, placement),
                None => Err(MissingReason::Unknown),
            };
            let value = value.map_err(|why| MissingPlaceholder {
                name: name.to_owned(),
                why,
            })?;
            let value = write(&filled, value);
            filled.push_str(&value);
        }
        Ok(filled)
    }

    fn value(
        &self,
        placeholder: &Placeholder,
        placement: TextPlacement,
    ) -> Result<String, MissingReason> {
        match placeholder {
            Placeholder::Custom(name) => self
                .custom
                .get(name)
                .cloned()
                .unwrap_or(Err(MissingReason::NoField)),
            Placeholder::Stay(StayValue::WifiPassword) => self.password(placement),
            Placeholder::Stay(value) => self
                .stay_value(*value)
                .filter(|value| !is_blank(value))
                .ok_or(MissingReason::NoValue),
        }
    }

    fn password(&self, placement: TextPlacement) -> Result<String, MissingReason> {
        if placement != TextPlacement::WifiManual {
            return Err(MissingReason::NotHere);
        }
        if self.stay.reservation.status == ReservationStatus::Tentative {
            return Err(MissingReason::Tentative);
        }
        let password = self
            .property()
            .and_then(|property| property.wifi_password.clone())
            .filter(|password| !password.is_empty())
            .ok_or(MissingReason::NoValue)?;
        Ok(if self.is_preview {
            HIDDEN.to_owned()
        } else {
            password
        })
    }

    fn property(&self) -> Option<&Property> {
        self.stay.flat.as_deref().map(|flat| &flat.property)
    }

    fn stay_value(&self, value: StayValue) -> Option<String> {
        let reservation = &self.stay.reservation;
        match value {
            StayValue::PropertyName => Some(self.property()?.name.clone()),
            StayValue::PropertyAddress => {
                Some(address_lines(self.property()?.address.as_ref()?).join(", "))
            }
            StayValue::CheckInTime => {
                let [arrival, _] = self.stay.times();
                self.time(arrival)
            }
            StayValue::CheckOutTime => {
                let [_, departure] = self.stay.times();
                self.time(departure)
            }
            StayValue::WifiName => self.property()?.wifi_name.clone(),
            StayValue::WifiPassword => None,
            StayValue::GuestFirstName => reservation.guest.first_name.clone(),
            StayValue::CheckIn => Some(self.dates.day_of_year(reservation.check_in)),
            StayValue::CheckOut => Some(self.dates.day_of_year(reservation.check_out)),
            StayValue::Nights => Some(
                precheck::days_between(reservation.check_in, reservation.check_out).to_string(),
            ),
        }
    }

    fn time(&self, time: Option<Time>) -> Option<String> {
        time.map(|time| self.dates.time(time))
    }
}

/// Reads the values of the custom fields whose placeholders are in the texts. A value at the flat
/// takes precedence over the value of the field itself.
pub(super) fn custom_values<'t>(
    context: &mut Context<'_, '_>,
    flat: Option<Uuid>,
    texts: impl Iterator<Item = &'t str>,
) -> Answer<CustomValues> {
    let custom_names = |text| {
        pieces(text)
            .into_iter()
            .filter_map(|piece| match piece.placeholder()? {
                Placeholder::Custom(name) => Some(name),
                Placeholder::Stay(_) => None,
            })
    };
    let names: BTreeSet<String> = texts
        .filter(|text| text.contains("{{"))
        .flat_map(custom_names)
        .collect();
    if names.is_empty() {
        return Ok(CustomValues::new());
    }
    let mut fields = custom_fields(context)?;
    let property = match flat {
        Some(id) => record_as::<Object>(context, RecordKind::Property, id)?,
        None => None,
    };
    let at_flat = property
        .as_ref()
        .and_then(|property| property.get("customFields"));
    let value = |name: String| {
        let candidates = fields.remove(&name).unwrap_or_default();
        let value = match candidates.as_slice() {
            [] => Err(MissingReason::NoField),
            [field] => at_flat
                .and_then(|values| values.get(field.id.to_string()))
                .filter(|value| !value.is_null())
                .or(field.value.as_ref())
                .and_then(guest_text)
                .filter(|value| !is_blank(value))
                .ok_or(MissingReason::NoValue),
            _ => Err(MissingReason::SeveralFields),
        };
        (name, value)
    };
    Ok(names.into_iter().map(value).collect())
}

/// Returns the step with filled placeholders in the agreement text that is stored in the step
/// itself. Returns `None` if the agreement, a question or an option contains a placeholder without
/// a value.
pub(super) fn filled_step(
    step: &Arc<Step>,
    texts: &Texts,
    values: &Values<'_>,
) -> Option<Arc<Step>> {
    if missing_of_step(step, texts, values).is_some() {
        return None;
    }
    let contract = step.write_only.contract_template_text.as_deref();
    let filled = contract
        .filter(|text| has_placeholders(text))
        .and_then(|text| values.plain(text, TextPlacement::Elsewhere).ok());
    match filled {
        Some(filled) => {
            let mut step = Step::clone(step);
            step.write_only.contract_template_text = Some(filled);
            Some(Arc::new(step))
        }
        None => Some(Arc::clone(step)),
    }
}

/// Returns the first placeholder without a value in the texts to which the guest's answer refers:
/// the text of an agreement, the questions and their options.
pub(super) fn missing_of_step(
    step: &Step,
    texts: &Texts,
    values: &Values<'_>,
) -> Option<MissingPlaceholder> {
    let form = step.step_type.answer_form();
    let questions = (form == AnswerForm::Questions).then_some(&step.questions);
    let question_texts = questions.into_iter().flatten().flat_map(|question| {
        let names = question.options.iter().map(|option| option.name_ml_text_id);
        names.chain([Some(question.text_ml_text_id)])
    });
    let contract = step
        .write_only
        .contract_template_text
        .as_deref()
        .filter(|_| form == AnswerForm::Agreement && agreement_text_id(step).is_none());
    question_texts
        .chain([agreement_text_id(step)])
        .filter_map(|id| texts.unfilled_text(id))
        .chain(contract)
        .find_map(|text| values.plain(text, TextPlacement::Elsewhere).err())
}

/// Returns the id of the flat from which a stay's texts take the values of custom fields.
pub(super) fn flat_id(flat: Option<&StayFlat>) -> Option<Uuid> {
    flat.map(|flat| flat.placement.property)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_value_is_named_in_the_message() {
        let missing = |why| MissingPlaceholder {
            name: "custom.Door code".into(),
            why,
        };
        for why in [
            MissingReason::NoValue,
            MissingReason::NoField,
            MissingReason::SeveralFields,
            MissingReason::NotHere,
            MissingReason::Tentative,
            MissingReason::Unknown,
        ] {
            let message = missing(why).message();
            assert!(message.contains("{{custom.Door code}}"), "{message}");
        }
    }

    #[test]
    fn only_wifi_manuals_may_name_the_password() {
        assert_eq!(
            TextPlacement::of_icon(Some("wifi")),
            TextPlacement::WifiManual
        );
        assert_eq!(
            TextPlacement::of_icon(Some("key-round")),
            TextPlacement::Elsewhere
        );
        assert_eq!(TextPlacement::of_icon(None), TextPlacement::Elsewhere);
    }
}

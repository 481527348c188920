//! Functions that all forms of the guest page use. They check a form before the page calls an
//! operation with its values. If the form is refused, they show it again, with the typed values and
//! the faults.

use axum::response::Response;

use super::fault::Faults;
use super::form::FormFields;
use super::page_stay::PageStay;
use super::reply;
use super::step::RefusedForm;

/// The reasons why a form was refused.
pub struct Rejection {
    pub status: u16,
    pub faults: Faults,
    /// The reason of a refusal that concerns the whole form; `None` if only single fields have
    /// faults.
    pub text: Option<&'static str>,
    /// The number of seconds that the guest should wait before sending the form again.
    pub retry_after: Option<u64>,
}

impl Rejection {
    /// Rejects a form for a reason that concerns no single field.
    #[must_use]
    pub fn whole(status: u16, text: &'static str) -> Self {
        Self {
            status,
            faults: Faults::default(),
            text: Some(text),
            retry_after: None,
        }
    }

    /// Responds with the page of the refused form. The form contains the typed values.
    pub fn response(
        self,
        page_stay: &PageStay,
        typed: Option<FormFields>,
        render: impl FnOnce(&RefusedForm) -> engine::error::Result<String>,
    ) -> Response {
        let refused = RefusedForm {
            typed,
            faults: self.faults,
            text: self.text,
        };
        let page = reply::page(self.status, render(&refused), page_stay.language);
        reply::retriable(page, self.retry_after)
    }
}

/// Parses the fields of a form with `check`. Rejects every form that was sent from a preview.
/// `fields` is `None` if the request had no valid form in its body. Such a request is rejected too.
pub fn check_form<T>(
    page_stay: &PageStay,
    fields: Option<&FormFields>,
    check: impl FnOnce(&[(String, String)]) -> Result<T, Faults>,
) -> Result<T, Rejection> {
    if page_stay.is_preview {
        return Err(Rejection::whole(403, page_stay.texts.preview.forms));
    }
    let Some(fields) = fields else {
        return Err(Rejection::whole(400, page_stay.texts.errors.not_saved));
    };
    check(fields).map_err(|faults| Rejection {
        status: 400,
        faults,
        text: None,
        retry_after: None,
    })
}

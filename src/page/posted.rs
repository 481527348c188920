//! The frame that the forms of a page share: a form is checked before it is sent, and a refused
//! form is shown again with its values and faults.

use axum::response::Response;

use super::fault::Faults;
use super::form::Fields;
use super::reply;
use super::shown::Shown;
use super::step::Refused;

/// A form that was not accepted, with the reasons.
pub struct Rejection {
    pub status: u16,
    /// The faults of its fields.
    pub faults: Faults,
    /// The reason that concerns the whole form.
    pub said: Option<&'static str>,
    /// The number of seconds after which a retry makes sense.
    pub retry_after: Option<u64>,
}

impl Rejection {
    /// Rejects a form as a whole.
    #[must_use]
    pub fn whole(status: u16, said: &'static str) -> Self {
        Self {
            status,
            faults: Faults::default(),
            said: Some(said),
            retry_after: None,
        }
    }

    /// Responds with the page of the rejected form, with the values that the guest typed.
    pub fn response(
        self,
        shown: &Shown,
        typed: Option<Fields>,
        render: impl FnOnce(&Refused) -> engine::error::Result<String>,
    ) -> Response {
        let refused = Refused {
            typed,
            faults: self.faults,
            said: self.said,
        };
        let page = reply::page(self.status, render(&refused), shown.language);
        reply::retriable(page, self.retry_after)
    }
}

/// Returns the input in the fields of a form, or the reason not to send it. A preview sends
/// nothing. `fields` is `None` for a request that holds no form.
pub fn checked<T>(
    shown: &Shown,
    fields: Option<&Fields>,
    check: impl FnOnce(&[(String, String)]) -> Result<T, Faults>,
) -> Result<T, Rejection> {
    if shown.is_preview {
        return Err(Rejection::whole(403, shown.words.preview.forms));
    }
    let Some(fields) = fields else {
        return Err(Rejection::whole(400, shown.words.errors.not_saved));
    };
    check(fields).map_err(|faults| Rejection {
        status: 400,
        faults,
        said: None,
        retry_after: None,
    })
}

//! The two pages with the form of a resource: one creates a resource, the other changes it.

use axum::response::Response;
use serde_json::{Map, Value};

use super::form::{
    FormOutcome, FormView, Resource, StoredResource, create_form_with, create_from_form, edit_form,
    save_form,
};
use super::frame::CompletedAction;
use super::refusal::ConsoleRefusal;
use super::reply;
use super::request::ConsoleRequest;
use super::screens::ScreenResponse;

/// A kind of resource that has a form. The screen of the resource registers [`new`], [`create`],
/// [`show`] and [`save`] as its pages.
pub trait Editor: 'static {
    /// The path of the page that lists the resources, relative to the console, such as `/portals`.
    /// The paths of the forms that create and change a resource begin with it.
    const PATH: &'static str;
    /// The operations and the layout of the form.
    const RESOURCE: &'static Resource;

    /// Returns the initial values of the form for a new resource.
    fn initial_values(
        _request: &ConsoleRequest,
    ) -> impl Future<Output = Result<Map<String, Value>, ConsoleRefusal>> + Send {
        std::future::ready(Ok(Map::new()))
    }

    /// Renders the page that contains the form of the resource. `stored` is `None` for a new
    /// resource.
    fn page(
        request: &ConsoleRequest,
        stored: Option<&StoredResource>,
        form: FormView,
    ) -> impl Future<Output = Response> + Send;
}

fn address_of_new<E: Editor>(request: &ConsoleRequest) -> String {
    request.address(&format!("{}/new", E::PATH))
}

/// Handles GET: shows the form for a new resource.
pub fn new<E: Editor>(request: &ConsoleRequest) -> ScreenResponse<'_> {
    Box::pin(async move {
        let values = E::initial_values(request).await?;
        let action = address_of_new::<E>(request);
        let form = create_form_with(request, E::RESOURCE, action, &values).await?;
        Ok(E::page(request, None, form).await)
    })
}

/// Handles POST: creates a resource from the submitted form. Redirects to the form that changes the
/// new resource.
pub fn create<E: Editor>(request: &ConsoleRequest) -> ScreenResponse<'_> {
    Box::pin(async move {
        match create_from_form(request, E::RESOURCE, address_of_new::<E>(request)).await? {
            FormOutcome::Done(made) => {
                let id = made["id"].as_str().unwrap_or_default();
                let path = format!("{}/{id}", E::PATH);
                Ok(reply::redirect_with_confirmation(
                    request,
                    &path,
                    CompletedAction::Created,
                ))
            }
            FormOutcome::Refused(form) => Ok(E::page(request, None, *form).await),
        }
    })
}

/// Handles GET: shows the form that changes a resource.
pub fn show<E: Editor>(request: &ConsoleRequest) -> ScreenResponse<'_> {
    Box::pin(async move {
        let stored = (E::RESOURCE.stored)(request, request.path_id("id")?).await?;
        let action = request.address(&request.path);
        let form = edit_form(request, E::RESOURCE, &stored, action).await?;
        Ok(E::page(request, Some(&stored), form).await)
    })
}

/// Handles POST: saves the changes in the submitted form.
pub fn save<E: Editor>(request: &ConsoleRequest) -> ScreenResponse<'_> {
    Box::pin(async move {
        let before = (E::RESOURCE.stored)(request, request.path_id("id")?).await?;
        let action = request.address(&request.path);
        match save_form(request, E::RESOURCE, &before, action).await? {
            FormOutcome::Done(is_changed) => {
                let action = CompletedAction::of_save(is_changed);
                Ok(reply::redirect_with_confirmation(
                    request,
                    &request.path,
                    action,
                ))
            }
            FormOutcome::Refused(form) => Ok(E::page(request, Some(&before), *form).await),
        }
    })
}

//! How the rows of this chapter go with their organization.

use engine::some_of;

store::statements! {
    /// Steps.
    STEPS = some_of!("precheck_step", "organization_id, id");
}

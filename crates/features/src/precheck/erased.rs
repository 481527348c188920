//! The statements that delete steps when their organization is erased.

use engine::some_of;

store::statements! {
    STEPS = some_of!("precheck_step", "organization_id, id");
}

//! The statements that delete the rows of this module when their organization is erased.

use engine::some_of;

store::statements! {
    STEPS = some_of!("precheck_step", "organization_id, id");
}

//! The statements that delete the rows of this module when their organization is erased.

use engine::some_of;

store::statements! {
    /// Translation jobs.
    TRANSLATION_JOBS = some_of!("translation_job", "organization_id, translation_id, language");
    /// Uses of texts.
    TEXT_USES = some_of!("translation_use", "organization_id, translation_id, thing_id, field");
    /// Versions of texts.
    ENTRIES = some_of!("translation_entry", "organization_id, translation_id, language");
    /// Texts.
    TRANSLATIONS = some_of!("translation", "organization_id, id");
}

//! The statements that delete texts and translation jobs when their organization is erased.

use engine::some_of;

store::statements! {
    /// Deletes a batch of an organization's translation jobs.
    TRANSLATION_JOBS = some_of!("translation_job", "organization_id, translation_id, language");
    /// Deletes a batch of the links from an organization's resources to texts.
    TEXT_USES = some_of!("translation_use", "organization_id, translation_id, thing_id, field");
    /// Deletes a batch of an organization's texts, each of which is the version of a translation in
    /// one language.
    ENTRIES = some_of!("translation_entry", "organization_id, translation_id, language");
    /// Deletes a batch of an organization's translations, which are texts with versions in several
    /// languages.
    TRANSLATIONS = some_of!("translation", "organization_id, id");
}

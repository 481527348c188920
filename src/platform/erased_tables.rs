//! The tables in which an organization has rows, and how some of them are removed: in this order, what names other rows
//! before those. A test finds a table of the schema that is not among them.

/// Removes some rows of a table, named by the columns of an index that begins with the organization: in its order, so that
/// what has been removed before is not passed over again. What others have in hand is left for the next time.
macro_rules! some_of {
    ($table:literal, $key:literal) => {
        concat!(
            "with doomed as (select ",
            $key,
            " from ",
            $table,
            " where organization_id = ?1 order by ",
            $key,
            " limit ?2 for update skip locked) delete from ",
            $table,
            " where (",
            $key,
            ") in (select ",
            $key,
            " from doomed)"
        )
    };
}

store::statements! {
    /// What was to be translated.
    TRANSLATION_JOBS = some_of!("translation_job", "organization_id, translation_id, language");
    /// Timers of devices.
    DEVICE_TIMERS = some_of!("device_timer", "organization_id, device_id");
    /// What was delivered, or was to be.
    DELIVERIES = some_of!("webhook_delivery", "organization_id, subscription_id, created_at, id");
    /// Subscriptions.
    SUBSCRIPTIONS = some_of!("webhook_subscription", "organization_id, id");
    /// Access tokens.
    ACCESS_TOKENS = some_of!("access_token", "organization_id, member_id, oauth_app_id, id");
    /// Members.
    MEMBERS = some_of!("member", "organization_id, id");
    /// API keys.
    API_KEYS = some_of!("api_key", "organization_id, created_at, id");
    /// Answers to retries.
    IDEMPOTENCY_RECORDS = some_of!("idempotency_record", "organization_id, credential, key");
    /// What guests answered.
    ANSWERS = some_of!("precheck_answer", "organization_id, reservation_id, step_id");
    /// What they submitted.
    PRECHECKINS = some_of!("precheckin", "organization_id, reservation_id");
    /// What they wrote.
    MESSAGES = some_of!("guest_message", "organization_id, id");
    /// Their links.
    GUEST_LINKS = some_of!("guest_link", "organization_id, reservation_id");
    /// Assignments.
    SCOPES = some_of!("entity_scope", "organization_id, entity_type, entity_id, target_kind, target_id");
    /// Steps.
    STEPS = some_of!("precheck_step", "organization_id, id");
    /// Manuals.
    MANUALS = some_of!("manual", "organization_id, id");
    /// Their headings.
    CATEGORIES = some_of!("manual_category", "organization_id, id");
    /// Portals.
    PORTALS = some_of!("portal", "organization_id, id");
    /// Brandings.
    BRANDINGS = some_of!("portal_branding", "organization_id, id");
    /// What shows texts.
    TEXT_USES = some_of!("translation_use", "organization_id, translation_id, thing_id, field");
    /// Versions of texts.
    ENTRIES = some_of!("translation_entry", "organization_id, translation_id, language");
    /// Texts.
    TRANSLATIONS = some_of!("translation", "organization_id, id");
    /// What records name.
    LINKS = some_of!("record_link", "organization_id, from_kind, from_id, to_kind, to_id");
    /// How many records there are.
    BLOCKS = some_of!("record_block", "organization_id, kind, from_created_at, from_id");
    /// Records.
    RECORDS = some_of!("record", "organization_id, kind, id");
}

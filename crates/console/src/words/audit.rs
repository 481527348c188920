//! The sentence with which the audit log describes an audited operation.

use texts::console::ConsoleAuditWords;

use features::records::RecordKind;
use features::words::fill;

/// An audited operation, with the data that its sentence contains.
#[derive(Debug, Clone, Copy, Default)]
pub struct AuditedAction<'d> {
    pub operation: &'d str,
    pub who: &'d str,
    /// `kind` is the type of the target, such as `portal`. `is_one` is false if the operation
    /// changed several resources of this type.
    pub kind: &'d str,
    pub is_one: bool,
    pub name: Option<&'d str>,
    /// The name of the app that the audited operation concerns.
    pub app: Option<&'d str>,
    /// Whether the audited operation created its target.
    pub is_new: bool,
}

/// Returns the noun for the type of the target, such as "the portal". In the sentence, the name of
/// the target follows it.
fn thing(words: &ConsoleAuditWords, action: &AuditedAction<'_>) -> &'static str {
    match action.kind {
        "portal" | "portal_settings" => words.the_portal,
        "portal_branding" => words.the_branding,
        "precheck_step" => words.the_step,
        "manual" => words.the_manual,
        "manual_category" => words.the_category,
        "manual_category_order" => words.the_categories,
        "property" => words.the_flat,
        "translation" => words.the_text,
        "webhook_subscription" if action.is_one => words.the_subscription,
        "webhook_subscription" => words.the_subscriptions,
        "reservation" if action.name.is_some() => words.the_stay,
        "reservation" => words.a_stay,
        "api_key" => words.the_key,
        "member" => words.the_member,
        "organization" => words.the_organization,
        "instruction" => words.the_instruction,
        "device" => words.the_device,
        "record" => words.the_records,
        "calendar_feed" => words.the_feed,
        kind if kind.parse::<RecordKind>().is_ok() => words.the_record,
        _ => words.the_thing,
    }
}

/// Returns the sentence that describes an audited operation.
pub fn describe_action(words: &ConsoleAuditWords, action: &AuditedAction<'_>) -> String {
    let sentence = sentence(words, action.operation, action.is_new).unwrap_or(words.other);
    let what = thing(words, action);
    let what = if action.name.is_some() {
        format!("{what} {{name}}")
    } else {
        what.to_owned()
    };
    // Contractions such as "del" are formed before the names are filled in. So they do not change a
    // name that contains "de el".
    let sentence = contracted(&sentence.replace("{what}", &what));
    let app = action.app.map_or_else(
        || words.an_app.to_owned(),
        |name| fill(words.app, &[("name", name)]),
    );
    let name = action.name.unwrap_or_default();
    fill(
        &sentence,
        &[
            ("who", action.who),
            ("name", name),
            ("app", &app),
            ("operation", action.operation),
        ],
    )
}

/// Returns the sentence for an operation, with placeholders for names. `is_new` is true if the
/// operation created its object. Returns `None` for an unknown operation.
fn sentence(words: &ConsoleAuditWords, operation: &str, is_new: bool) -> Option<&'static str> {
    Some(match operation {
        "createPortal"
        | "createPortalBranding"
        | "createPrecheckStep"
        | "createPortalManual"
        | "createPortalManualCategory"
        | "createTranslation"
        | "createWebhookSubscription"
        | "createCalendarFeed"
        | "createApiKey"
        | "createTeamApiKey"
        | "createOrganization"
        | "inviteMember"
        | "setUp" => words.made,
        "putOrganization" | "putMember" if is_new => words.made,
        "updatePortal"
        | "updatePortalBranding"
        | "updatePrecheckStep"
        | "updatePortalManual"
        | "updatePortalManualCategory"
        | "setTranslationEntry"
        | "deleteTranslationEntry"
        | "putOrganization"
        | "putMember"
        | "putRecords"
        | "updateMember"
        | "updateRecord" => words.edited,
        "importRecords" => words.imported,
        "deletePortalManualCategory"
        | "deleteInstruction"
        | "deleteCalendarFeed"
        | "deleteWebhookSubscription"
        | "removeMember" => words.removed,
        "revokeApiKey" | "revokeTeamApiKey" => words.ended,
        "reorderPortalManualCategories" => words.moved,
        "updateEntityScopes" | "addEntityScopes" | "removeEntityScopes" => words.assigned,
        "assignPortalToProperty" => words.pointed,
        "approvePrecheckin" => words.approved,
        "requestPrecheckinChanges" => words.asked,
        "createPortalPreview" => words.previewed,
        "rotateWebhookSecret" => words.rotated,
        "rotateApiKey" | "rotateTeamApiKey" => words.replaced,
        "redeliverWebhook" => words.resent,
        "redeliverFailedWebhooks" => words.resent_failed,
        "pingWebhookSubscription" => words.pinged,
        "refreshCalendarFeed" => words.fetched,
        "lockDevice" => words.locked,
        "unlockDevice" => words.unlocked,
        "setDeviceTemperature" => words.tempered,
        "setDeviceMode" => words.switched,
        "signIn" => words.signed_in,
        "signOut" => words.signed_out,
        "createSignInLink" | "createMemberSignInLink" => words.linked,
        "allowApp" => words.allowed,
        "createAccessToken" => words.tokened,
        "deleteConnection" | "disconnect" => words.disconnected,
        "revokeToken" => words.revoked,
        _ => return None,
    })
}

/// Returns the text for the way in which a member signed in, such as by a link; `None` for an
/// unknown way.
pub fn entrance(words: &ConsoleAuditWords, by: &str) -> Option<&'static str> {
    match by {
        "link" => Some(words.by_link),
        "provider" => Some(words.by_provider),
        "setup" => Some(words.by_setup),
        _ => None,
    }
}

/// Joins a preposition with the article after it, as Spanish and French require, for example "de
/// el" to "del".
fn contracted(sentence: &str) -> String {
    let together = [
        (" de el ", " del "),
        (" a el ", " al "),
        (" de le ", " du "),
        (" de les ", " des "),
        (" à le ", " au "),
        (" à les ", " aux "),
    ];
    together
        .iter()
        .fold(sentence.to_owned(), |text, (apart, together)| {
            text.replace(apart, together)
        })
}

#[cfg(test)]
mod tests {
    use vestibule::app::app;

    use super::super::of;
    use super::*;

    /// Audited actions that are not operations of the interface.
    const OTHER_ACTIONS: [&str; 4] = ["signIn", "signOut", "allowApp", "revokeToken"];

    #[test]
    fn every_audited_operation_has_a_fitting_sentence() {
        let words = &of("en").audit;
        let audited = app()
            .operations
            .iter()
            .filter_map(|operation| Some((operation.id, operation.audits?)));
        let audited: Vec<_> = audited.collect();
        assert!(audited.len() > 30, "{}", audited.len());
        for (id, audits) in audited {
            let text = sentence(words, id, false).unwrap_or_else(|| panic!("{id} has no sentence"));
            // Exactly the operations that create their target have the sentence `made`. An
            // operation that leaves its target unchanged must not say that the target was made,
            // edited, removed, moved or assigned.
            assert_eq!(text == words.made, audits.creates_object(), "{id}: {text}");
            let is_of_thing = [
                words.made,
                words.edited,
                words.removed,
                words.moved,
                words.assigned,
            ]
            .contains(&text);
            assert!(!(audits.leaves_unchanged() && is_of_thing), "{id}: {text}");
            assert_eq!(
                text == words.removed,
                !audits.leaves_unchanged()
                    && (id.starts_with("delete") || id.starts_with("remove"))
                    // Operations whose names have these endings remove a part of their target. The
                    // target itself still exists.
                    && !id.ends_with("Scopes")
                    && !id.ends_with("Entry"),
                "{id}: {text}"
            );
        }
        assert!(
            OTHER_ACTIONS
                .iter()
                .all(|id| sentence(words, id, false).is_some())
        );
    }

    #[test]
    fn an_audit_entry_is_written_as_a_sentence() {
        let text = |words: &ConsoleAuditWords, operation, kind, name| {
            describe_action(
                words,
                &AuditedAction {
                    operation,
                    who: "Marta",
                    kind,
                    is_one: true,
                    name,
                    ..AuditedAction::default()
                },
            )
        };
        let (english, spanish, french) = (&of("en").audit, &of("es").audit, &of("fr").audit);
        assert_eq!(
            text(english, "createPortal", "portal", Some("Casa {who}")),
            "Marta created the portal Casa {who}"
        );
        assert_eq!(
            text(english, "putMember", "member", Some("Ada")),
            "Marta changed the member Ada"
        );
        assert_eq!(
            text(english, "createSignInLink", "member", Some("Ada")),
            "Marta created a sign-in link for the member Ada"
        );
        assert_eq!(
            text(english, "approvePrecheckin", "reservation", None),
            "Marta approved the submission for a stay"
        );
        assert_eq!(
            text(
                english,
                "createWebhookSubscription",
                "webhook_subscription",
                Some("https://a")
            ),
            "Marta created the webhook subscription https://a"
        );
        assert_eq!(
            text(english, "teleport", "moon", None),
            "Marta did teleport (something)"
        );
        assert_eq!(
            text(spanish, "updateEntityScopes", "portal", Some("de el mar")),
            "Marta cambió las asignaciones del portal de el mar"
        );
        assert_eq!(
            text(spanish, "assignPortalToProperty", "property", Some("Uno")),
            "Marta cambió el portal asignado al alojamiento Uno"
        );
        assert_eq!(
            text(french, "updateEntityScopes", "manual", Some("Clés")),
            "Marta a modifié les affectations du guide Clés"
        );
        let of_app = AuditedAction {
            operation: "deleteConnection",
            who: "Marta",
            kind: "member",
            is_one: true,
            name: Some("Ada"),
            ..AuditedAction::default()
        };
        assert_eq!(
            describe_action(english, &of_app),
            "Marta disconnected an app from the member Ada"
        );
        assert_eq!(
            describe_action(
                spanish,
                &AuditedAction {
                    app: Some("Notes"),
                    ..of_app
                }
            ),
            "Marta desconectó la aplicación Notes del miembro Ada"
        );
        let new = AuditedAction {
            operation: "putMember",
            who: "The platform",
            is_new: true,
            ..of_app
        };
        assert_eq!(
            describe_action(english, &new),
            "The platform created the member Ada"
        );
        let several = AuditedAction {
            operation: "deleteWebhookSubscription",
            who: "key",
            kind: "webhook_subscription",
            name: Some("https://a"),
            ..AuditedAction::default()
        };
        assert_eq!(
            describe_action(english, &several),
            "key removed the webhook subscriptions to https://a"
        );
    }
}

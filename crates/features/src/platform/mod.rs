//! The platform interface: organizations, their credentials, and the synchronization of records.
//! The module also contains the operations on API keys, records and the audit log that members
//! call.
//!
//! Start with `sync.rs`, which receives records, and `batch.rs`, which applies them. The operations
//! on API keys and members are in `credentials.rs`, and those on access tokens of OAuth apps in
//! `connections.rs`.

mod api_keys;
mod apps;
mod audit_log;
mod audited;
mod backups;
mod batch;
mod by_hand;
mod connections;
mod credentials;
mod erasure;
mod links;
mod organizations;
mod sync;
mod versions;

use engine::module::Module;

pub use api_keys::ConsoleKeys;
pub use api_keys::{
    CREATE_TEAM_API_KEY, LIST_TEAM_API_KEYS, LastWrite, ROTATE_TEAM_API_KEY, TeamApiKey,
};
pub use apps::{OauthApp, new_secret};
pub use audit_log::{AuditEntry, LIST_AUDIT_LOG, TargetView};
pub use audited::audited_member;
pub use audited::member_target;
pub use backups::BackupStatusFile;
pub use backups::GET_LAST_BACKUP;
pub(crate) use batch::SyncRecord;
pub(crate) use by_hand::{issues_of_record, require_every_property};
pub use connections::AppConnection;
pub use credentials::{
    ApiKeyView, CredentialSuccess, LIST_TEAM_MEMBERS, MemberView, save_member, without_duplicates,
};
pub use erasure::sweep;
pub use organizations::create_organization;
pub use sync::MAX_RECORDS;
pub use sync::schemas;
pub(crate) use sync::{OnInvalid, SyncSettings, apply_records};

/// Registers this module's operations, statements and routes with the engine.
pub static MODULE: Module = Module {
    operations: || {
        let credential_modules = [
            credentials::operations(),
            api_keys::operations(),
            apps::operations(),
            connections::operations(),
        ];
        let other_modules = [
            links::operations(),
            sync::operations(),
            by_hand::operations(),
            audit_log::operations(),
            backups::operations(),
        ];
        [organizations::operations()]
            .into_iter()
            .chain(credential_modules)
            .chain(other_modules)
            .flatten()
            .collect()
    },
    statements: || {
        let credential_modules = [
            credentials::STATEMENTS,
            api_keys::STATEMENTS,
            apps::STATEMENTS,
            connections::STATEMENTS,
        ]
        .concat();
        let other_modules = [
            batch::STATEMENTS,
            erasure::STATEMENTS,
            links::STATEMENTS,
            organizations::STATEMENTS,
            versions::STATEMENTS,
        ]
        .concat();
        [
            credential_modules,
            other_modules,
            audit_log::STATEMENTS.to_vec(),
            audited::STATEMENTS.to_vec(),
        ]
        .concat()
    },
    subjects: &[
        (
            "organizations",
            "Organizations: created, changed, listed, erased.",
        ),
        (
            "members",
            "People who work for an organization, and what they may do.",
        ),
        ("api-keys", "Keys for integrations, shown once."),
        ("oauth-apps", "Apps that members may connect."),
        ("access-tokens", "Tokens of apps for members, shown once."),
        ("connections", "Which apps act for which members."),
        ("guest-links", "Links for guests, many at once."),
        (
            "sync",
            "Pushes records, all or nothing, or without the invalid ones.",
        ),
        ("records", "Keeps records by hand, all or nothing."),
        ("audit-log", "Who changed what, and when."),
        ("last-backup", "When the database was copied."),
    ],
    ..Module::new("platform")
};

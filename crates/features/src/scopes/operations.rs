//! The operations that list, replace, add and remove assignments.

use std::collections::{BTreeMap, BTreeSet};

use engine::access::Permission;
use engine::audit::Audits;
use engine::context::Context;
use engine::error::{Error, Issue, Reason, Result};
use engine::field::Field;
use engine::operation::{CacheBasis, Declaration, Findings, Needs, Operation, OperationName};
use http::Method;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use uuid::Uuid;

use super::audited;
use super::{
    Assignable, Coverage, EntityScopes, EntityType, Target, TargetKind, TargetSource, add,
    assign_portal, remove, targets,
};
use crate::records::{RecordKind, first_missing};

/// Reads the assignments of a step, manual or portal.
pub const LIST_ENTITY_SCOPES: OperationName<EntityScopes> = OperationName::new("listEntityScopes");

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct OfEntity {
    /// Type of the entity: a step, a manual or a portal.
    entity_type: EntityType,
    /// Id of the step, manual or portal whose assignments are read. An unknown id, or an id of
    /// another type, has four empty lists.
    entity_id: Uuid,
}

/// The assignments to replace, add or remove.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(example = json!({
    "entityType": "portal_settings", "entityId": "0192f0c1-2345-7abc-8def-0123456789ac",
    "propertyIds": ["0192f0c1-2345-7abc-8def-0123456789ab"]
}))]
pub(super) struct WriteScopes {
    /// Type of the entity: a step, a manual or a portal. Writing assignments of a manual also needs
    /// `modify_guides`.
    entity_type: EntityType,
    /// Id of the step, manual or portal; an unknown id is a 404.
    entity_id: Uuid,
    /// Ids of properties to assign directly, or to take away. A property assigned to a portal
    /// leaves its previous portal. If the list is left out, `updateEntityScopes` treats it as
    /// empty, and the other operations do not change these assignments.
    #[serde(default)]
    #[schemars(length(max = 25_000))]
    property_ids: Field<Vec<Uuid>>,
    /// Ids of property groups; a group stands for all of its properties. If the list is left out,
    /// `updateEntityScopes` treats it as empty, and the other operations do not change these
    /// assignments.
    #[serde(default)]
    #[schemars(length(max = 25_000))]
    property_group_ids: Field<Vec<Uuid>>,
    /// Ids of tags; a tag stands for all properties that have it. If the list is left out,
    /// `updateEntityScopes` treats it as empty, and the other operations do not change these
    /// assignments.
    #[serde(default)]
    #[schemars(length(max = 25_000))]
    tag_ids: Field<Vec<Uuid>>,
    /// Ids of portals; a portal stands for all properties that it serves. Only steps can be
    /// assigned to portals; for manuals and portals, a list that is not empty is refused. If the
    /// list is left out, `updateEntityScopes` treats it as empty, and the other operations do not
    /// change these assignments.
    #[serde(default)]
    #[schemars(length(max = 25_000))]
    portal_settings_ids: Field<Vec<Uuid>>,
}

/// The fields of a request that decide whether the request may assign an entity to portals.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ScopeWrite {
    entity_type: EntityType,
    #[serde(default)]
    portal_settings_ids: Vec<Uuid>,
}

impl ScopeWrite {
    /// Returns an issue if an entity other than a step is assigned to portals (rules:
    /// assignments#entity-scopes, 2 to 5).
    fn issue(&self) -> Option<Issue> {
        let is_fine =
            self.entity_type == EntityType::PrecheckStep || self.portal_settings_ids.is_empty();
        (!is_fine).then(|| {
            Issue::new(
                &["portalSettingsIds"],
                Reason::rule("not_for_portals", "cannot be assigned to portals"),
            )
        })
    }
}

/// The effect of a request on the assignments of an entity: it replaces all of them, adds some, or
/// removes some.
#[derive(Clone, Copy, PartialEq, Eq)]
enum WriteMode {
    Replace,
    Add,
    Remove,
}

impl WriteScopes {
    /// Returns all targets in the request: properties, property groups, tags and portals.
    pub(super) fn targets(&self) -> BTreeSet<Target> {
        let of = |kind, ids: &Field<Vec<Uuid>>| {
            ids.sent()
                .into_iter()
                .flatten()
                .map(|id| (kind, *id))
                .collect::<Vec<_>>()
        };
        let targets_by_kind = [
            of(TargetKind::Property, &self.property_ids),
            of(TargetKind::PropertyGroup, &self.property_group_ids),
            of(TargetKind::Tag, &self.tag_ids),
            of(TargetKind::Portal, &self.portal_settings_ids),
        ];
        targets_by_kind.into_iter().flatten().collect()
    }
}

pub(super) fn operations() -> Vec<Operation> {
    use Permission::{ModifyProperties, ViewProperties};
    let declare = |id, path| {
        Operation::public(id, Method::POST, path, Needs::Permission(ModifyProperties)).idempotent()
    };
    let write = |declaration: Declaration, mode| {
        let reader = if mode == WriteMode::Replace {
            audited::all_assignments
        } else {
            audited::assignments_in_request
        };
        declaration
            .audited(Audits::changes(reader))
            .rules(|input: ScopeWrite, _| Findings::sent(input.issue()))
            .run(move |context, input: WriteScopes| write(context, &input, mode))
    };
    vec![
        Operation::public(
            LIST_ENTITY_SCOPES.id(),
            Method::GET,
            "/entity-scopes",
            Needs::Permission(ViewProperties),
        )
        .summary("Read what a step, manual or portal is assigned to")
        .tool(
            "assignments",
            "Read assignments",
            "What a step, manual or portal is assigned to: ids of properties, property groups, \
                tags and portals, with `names`. Whether that makes a guest see it says \
                `explainGuestView`.",
        )
        .cached(CacheBasis::Configuration)
        .run_as(LIST_ENTITY_SCOPES, list),
        write(
            declare("updateEntityScopes", "/entity-scopes")
                .summary("Replace every assignment with the arrays sent")
                .tool(
                    "assignments",
                    "Replace assignments",
                    "Replaces ALL assignments of a step, manual or portal by the lists sent; what \
                        is left out is unassigned. To add or take away some use `addEntityScopes`, \
                        `removeEntityScopes`. Returns the assignments after it.",
                )
                .destructive(),
            WriteMode::Replace,
        ),
        write(
            declare("addEntityScopes", "/entity-scopes/add")
                .summary("Add assignments, keep the rest")
                .tool(
                    "assignments",
                    "Add assignments",
                    "Assigns a step, manual or portal to properties, property groups, tags (a \
                        step: portals too) and keeps the rest. Returns the assignments after it. \
                        Example: {\"entityType\": \"manual\", \"entityId\": \"…\", \
                        \"propertyGroupIds\": [\"…\"]}",
                ),
            WriteMode::Add,
        ),
        write(
            declare("removeEntityScopes", "/entity-scopes/remove")
                .summary("Remove assignments, keep the rest")
                .tool(
                    "assignments",
                    "Remove assignments",
                    "Takes some assignments away from a step, manual or portal and keeps the rest. \
                        Returns the assignments after it.",
                )
                .destructive(),
            WriteMode::Remove,
        ),
    ]
}

fn list(context: &mut Context<'_, '_>, input: OfEntity) -> Result<EntityScopes> {
    let coverage = Coverage::load(context)?;
    EntityScopes::visible(context, input.entity_type, input.entity_id, &coverage)
}

fn write(
    context: &mut Context<'_, '_>,
    input: &WriteScopes,
    mode: WriteMode,
) -> Result<EntityScopes> {
    let entity = assignable(context, input.entity_type)?;
    (entity.check)(context, input.entity_id)?;
    let coverage = Coverage::load(context)?;
    let input_targets = input.targets();
    check_targets(context, &input_targets, mode, &coverage)?;
    if let Some(permission) = entity.needs {
        context.require(permission)?;
    }
    let stored: BTreeSet<Target> = targets(context, input.entity_type, input.entity_id)?
        .into_iter()
        .collect();
    let removed: Vec<Target> = match mode {
        WriteMode::Replace => stored
            .difference(&input_targets)
            .filter(|(kind, id)| coverage.is_writable(*kind, *id))
            .copied()
            .collect(),
        WriteMode::Remove => stored.intersection(&input_targets).copied().collect(),
        WriteMode::Add => Vec::new(),
    };
    for (kind, ids) in by_kind(removed) {
        remove(context, input.entity_type, input.entity_id, kind, &ids)?;
    }
    if mode != WriteMode::Remove {
        for (kind, ids) in by_kind(input_targets.difference(&stored).copied()) {
            if (input.entity_type, kind) == (EntityType::PortalSettings, TargetKind::Property) {
                assign_portal(context, input.entity_id, &ids)?;
            } else {
                add(context, input.entity_type, input.entity_id, kind, &ids)?;
            }
        }
    }
    EntityScopes::visible(context, input.entity_type, input.entity_id, &coverage)
}

fn by_kind(targets: impl IntoIterator<Item = Target>) -> BTreeMap<TargetKind, Vec<Uuid>> {
    let mut by_kind = BTreeMap::<TargetKind, Vec<Uuid>>::new();
    for (kind, id) in targets {
        by_kind.entry(kind).or_default().push(id);
    }
    by_kind
}

/// Returns the [`Assignable`] that the module of an entity type has registered.
pub(super) fn assignable(
    context: &Context<'_, '_>,
    entity_type: EntityType,
) -> Result<&'static Assignable> {
    let assignable = context
        .listed::<Assignable>()
        .iter()
        .find(|assignable| assignable.entity_type == entity_type);
    assignable.ok_or_else(|| Error::internal("no module has this entity type"))
}

/// Fails with 404 for a target that does not exist or is not writable. An unlimited caller may
/// remove the assignment to an unknown target, which changes nothing. A limited caller gets 404 for
/// an unknown target in every case, so that the response does not reveal whether an id exists.
fn check_targets(
    context: &mut Context<'_, '_>,
    targets: &BTreeSet<Target>,
    mode: WriteMode,
    coverage: &Coverage,
) -> Result<()> {
    let may_be_missing = mode == WriteMode::Remove && !context.property_scope().is_limited();
    for (kind, ids) in by_kind(targets.iter().copied()) {
        let unwritable = ids.iter().find(|id| !coverage.is_writable(kind, **id));
        let missing = match unwritable {
            Some(id) => Some(*id),
            None if may_be_missing => None,
            None => first_missing_target(context, kind, ids)?,
        };
        if let Some(id) = missing {
            return Err(not_found(kind).of(id));
        }
    }
    Ok(())
}

fn first_missing_target(
    context: &mut Context<'_, '_>,
    kind: TargetKind,
    ids: Vec<Uuid>,
) -> Result<Option<Uuid>> {
    match kind.record() {
        Some(record) => first_missing(context, record, &ids.into_iter().collect()),
        None => (TargetSource::of(context, kind)?.first_missing)(context, ids),
    }
}

fn not_found(kind: TargetKind) -> Error {
    Error::not_found(
        &kind
            .record()
            .map_or_else(|| "Portal".into(), RecordKind::label),
    )
}

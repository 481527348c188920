//! The operation `countReachedProperties`. For a step or manual, it counts the properties to which
//! that entity is assigned, directly or by a group, a tag or a portal. For a portal, it counts the
//! properties that the portal serves. Each property is counted once, even if several assignments
//! cover it.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use engine::access::Permission;
use engine::app_state::Cacheable;
use engine::context::Context;
use engine::error::Result;
use engine::operation::{CacheBasis, Needs, Operation, OperationName};
use http::Method;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use uuid::Uuid;

use super::{EntityType, Target, TargetKind, serving, targets_of};

/// Counts the properties of each given entity: those to which a step or manual is assigned, or
/// those that a portal serves.
pub const COUNT_REACHED_PROPERTIES: OperationName<Vec<Reached>> =
    OperationName::new("countReachedProperties");

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct OfEntities {
    /// Type of the entities: steps, manuals or portals.
    entity_type: EntityType,
    /// Ids of steps, manuals or portals; an unknown id, or an id of another type, has the number 0.
    #[schemars(length(max = 100))]
    entity_ids: Vec<Uuid>,
}

/// The number of properties that a step, a manual or a portal reaches.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(example = json!({
    "entityId": "0192f0c1-2345-7abc-8def-0123456789ab",
    "propertyCount": 214,
}))]
pub struct Reached {
    /// Id of the step, manual or portal.
    pub entity_id: Uuid,
    /// Number of properties that the entity is assigned to, directly or by their group, a tag or
    /// their portal. For a portal, the number of properties that it serves. For a limited caller,
    /// only accessible properties are counted.
    pub property_count: usize,
}

pub(super) fn operations() -> Vec<Operation> {
    vec![
        Operation::public(
            COUNT_REACHED_PROPERTIES.id(),
            Method::GET,
            "/entity-scopes/reach",
            Needs::Permission(Permission::ViewProperties),
        )
        .summary("Count the properties that steps, manuals or portals reach")
        .rest_only()
        .cached(CacheBasis::Configuration)
        .run_as(COUNT_REACHED_PROPERTIES, count),
    ]
}

/// A set of properties of the organization, stored as a bit set of their indexes. The response for
/// a page of steps needs many of these sets, so a set must be small.
struct PropertySet(Vec<u64>);

impl PropertySet {
    fn none_of(count: usize) -> Self {
        Self(vec![0; count / 64 + 1])
    }

    fn extend<'p>(&mut self, indexes: impl IntoIterator<Item = &'p u32>) {
        for index in indexes {
            if let Some(word) = self.0.get_mut(*index as usize / 64) {
                *word |= 1 << (index % 64);
            }
        }
    }

    fn count_within(&self, own: Option<&Self>) -> usize {
        let word = |(word_index, word): (usize, &u64)| {
            word & own.map_or(u64::MAX, |own| {
                own.0.get(word_index).copied().unwrap_or_default()
            })
        };
        self.0
            .iter()
            .enumerate()
            .map(|word_of| word(word_of).count_ones() as usize)
            .sum()
    }
}

/// The properties of an organization, the index of each property, and for each target the indexes
/// of the properties that it covers.
struct PropertiesByTarget {
    /// The ids of the properties, in the order of creation. Other fields refer to a property by its
    /// index in this list.
    properties: Vec<Uuid>,
    indexes: HashMap<Uuid, u32>,
    covered: HashMap<Target, Vec<u32>>,
}

impl PropertiesByTarget {
    fn load(context: &mut Context<'_, '_>) -> Result<Self> {
        let served = serving::placements_with_portals(context)?;
        let (mut properties, mut indexes) = (
            Vec::with_capacity(served.len()),
            HashMap::with_capacity(served.len()),
        );
        let mut covered = HashMap::<Target, Vec<u32>>::new();
        for (index, (placement, portal)) in (0..).zip(served) {
            properties.push(placement.property);
            indexes.insert(placement.property, index);
            let tags = placement.tags.iter().map(|tag| (TargetKind::Tag, *tag));
            let group = placement
                .group
                .map(|group| (TargetKind::PropertyGroup, group));
            for target in tags
                .chain(group)
                .chain(portal.map(|portal| (TargetKind::Portal, portal)))
            {
                covered.entry(target).or_default().push(index);
            }
        }
        Ok(Self {
            properties,
            indexes,
            covered,
        })
    }

    /// Returns the properties that each target covers, from the cache or else from the database. A
    /// change of the configuration invalidates the cached value.
    fn cached(context: &mut Context<'_, '_>) -> Result<Arc<Self>> {
        context.cached("behind targets", Self::load)
    }

    /// Counts the properties that at least one of these targets covers. If `own` is a set, counts
    /// only properties in this set, which are those that a limited caller can access.
    fn count(&self, targets: &[Target], own: Option<&PropertySet>) -> usize {
        let mut reached = PropertySet::none_of(self.indexes.len());
        for target in targets {
            match target {
                (TargetKind::Property, id) => reached.extend(self.indexes.get(id)),
                (TargetKind::PropertyGroup | TargetKind::Tag | TargetKind::Portal, _) => {
                    reached.extend(self.covered.get(target).into_iter().flatten());
                }
            }
        }
        reached.count_within(own)
    }
}

impl Cacheable for PropertiesByTarget {
    fn weight(&self) -> u64 {
        let links: usize = self.covered.values().map(Vec::len).sum();
        let bytes = self.properties.len() * size_of::<Uuid>()
            + 2 * self.indexes.len() * size_of::<(Uuid, u32)>()
            + 2 * self.covered.len() * size_of::<(Target, Vec<u32>)>()
            + 4 * links;
        u64::try_from(bytes).unwrap_or(u64::MAX / 2)
    }
}

/// Returns the first property, in the order of creation, that the portal serves and the caller can
/// access. If there is none, returns the first property that the caller can access.
pub(crate) fn first_served_property(
    context: &mut Context<'_, '_>,
    portal: Uuid,
) -> Result<Option<Uuid>> {
    let (by_target, property_scope) = (
        PropertiesByTarget::cached(context)?,
        context.property_scope(),
    );
    let served = by_target
        .covered
        .get(&(TargetKind::Portal, portal))
        .into_iter()
        .flatten();
    let served = served.filter_map(|index| by_target.properties.get(*index as usize));
    Ok(served
        .chain(&by_target.properties)
        .copied()
        .find(|property| property_scope.covers(*property)))
}

fn count(context: &mut Context<'_, '_>, input: OfEntities) -> Result<Vec<Reached>> {
    let mut ids = input.entity_ids;
    let mut seen = HashSet::new();
    ids.retain(|id| seen.insert(*id));
    let by_target = PropertiesByTarget::cached(context)?;
    let own = context.property_scope().is_limited().then(|| {
        let (property_scope, mut own) = (
            context.property_scope(),
            PropertySet::none_of(by_target.indexes.len()),
        );
        own.extend(
            by_target
                .indexes
                .iter()
                .filter(|(property, _)| property_scope.covers(**property))
                .map(|(_, index)| index),
        );
        own
    });
    let assigned = match input.entity_type {
        EntityType::PortalSettings => ids
            .iter()
            .map(|id| (*id, vec![(TargetKind::Portal, *id)]))
            .collect(),
        other => targets_of(context, other, &ids)?,
    };
    let reached = |id: Uuid| {
        let targets = assigned.get(&id).map(Vec::as_slice).unwrap_or_default();
        Reached {
            entity_id: id,
            property_count: by_target.count(targets, own.as_ref()),
        }
    };
    Ok(ids.into_iter().map(reached).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_property_with_several_assignments_is_counted_once() {
        let id = Uuid::from_u128;
        let (group, tag) = (
            (TargetKind::PropertyGroup, id(10)),
            (TargetKind::Tag, id(10)),
        );
        let by_target = PropertiesByTarget {
            properties: (0..=4).map(id).collect(),
            indexes: (0..=4)
                .map(|number| (id(number), u32::try_from(number).unwrap()))
                .collect(),
            covered: HashMap::from([(group, vec![1, 2]), (tag, vec![2, 3])]),
        };
        assert_eq!(
            by_target.count(
                &[
                    group,
                    tag,
                    (TargetKind::Property, id(1)),
                    (TargetKind::Property, id(9))
                ],
                None
            ),
            3
        );
        let mut own = PropertySet::none_of(5);
        own.extend(&[2, 4]);
        assert_eq!(
            by_target.count(&[group, (TargetKind::Property, id(4))], Some(&own)),
            2
        );
        assert_eq!(by_target.count(&[], None), 0);
    }
}

//! Decides which portal a property gets (rules: portals#portal-of-a-property). A direct assignment
//! to the property decides first, then an assignment to its group, then to one of its tags. Without
//! such an assignment, the property gets the default portal. Among several portals at one of these
//! levels, the portal that was created first wins. This file is pure; `serving.rs` loads the
//! assignments.

use std::collections::HashMap;

use uuid::Uuid;

/// A property with its group and tags. The property, the group and the tags decide which portal the
/// property gets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placement {
    pub property: Uuid,
    pub group: Option<Uuid>,
    pub tags: Vec<Uuid>,
}

/// The assignments of portals to properties, groups and tags, and the default portal. The portal of
/// a group or tag has a number (from `added`) that gives the order in which the portals were added.
#[derive(Debug, Clone, Default)]
pub struct Assignments {
    direct: HashMap<Uuid, Uuid>,
    groups: HashMap<Uuid, (usize, Uuid)>,
    tags: HashMap<Uuid, (usize, Uuid)>,
    default: Option<Uuid>,
    added: usize,
}

/// The kind of assignment by which a property gets its portal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PortalSource {
    /// The portal is assigned to the property itself.
    Direct,
    /// The portal is assigned to the property's group.
    Group(Uuid),
    /// The portal is assigned to one of the property's tags.
    Tag(Uuid),
    /// The portal is the organization's default portal.
    Default,
}

/// The portal of a property, and the kind of assignment by which the property gets it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResolvedPortal {
    pub portal: Uuid,
    /// The kind of assignment by which the property gets the portal.
    pub source: PortalSource,
}

impl Assignments {
    /// Creates assignments that contain only the default portal.
    #[must_use]
    pub fn new(default: Option<Uuid>) -> Self {
        Self {
            default,
            ..Self::default()
        }
    }

    /// Records that a portal is assigned directly to a property. Call this method, `add_group` and
    /// `add_tag` in the order in which the portals were created, because only the first portal of a
    /// property, group or tag is kept.
    pub fn add_direct(&mut self, property: Uuid, portal: Uuid) {
        self.direct.entry(property).or_insert(portal);
    }

    /// Records that a portal is assigned to a group. If the group has several portals, the first
    /// one that was added stays.
    pub fn add_group(&mut self, group: Uuid, portal: Uuid) {
        self.added += 1;
        self.groups.entry(group).or_insert((self.added, portal));
    }

    /// Records that a portal is assigned to a tag. If the tag already has a portal, the tag keeps
    /// it.
    pub fn add_tag(&mut self, tag: Uuid, portal: Uuid) {
        self.added += 1;
        self.tags.entry(tag).or_insert((self.added, portal));
    }
}

/// Returns the portal that a property gets; `None` if no assigned portal covers the property and
/// the organization has no default portal.
#[must_use]
pub fn resolve(placement: &Placement, assignments: &Assignments) -> Option<ResolvedPortal> {
    let direct = || {
        assignments
            .direct
            .get(&placement.property)
            .map(|portal| ResolvedPortal {
                portal: *portal,
                source: PortalSource::Direct,
            })
    };
    let group = || {
        let group = placement.group?;
        assignments
            .groups
            .get(&group)
            .map(|(_, portal)| ResolvedPortal {
                portal: *portal,
                source: PortalSource::Group(group),
            })
    };
    let tag = || {
        let scoped = placement.tags.iter().filter_map(|tag| {
            assignments
                .tags
                .get(tag)
                .map(|(order, portal)| (order, *portal, *tag))
        });
        scoped.min().map(|(_, portal, tag)| ResolvedPortal {
            portal,
            source: PortalSource::Tag(tag),
        })
    };
    let default = || {
        assignments.default.map(|portal| ResolvedPortal {
            portal,
            source: PortalSource::Default,
        })
    };
    direct().or_else(group).or_else(tag).or_else(default)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[derive(Debug, Clone, Copy)]
    enum ResolutionTarget {
        Property(u8),
        Group(u8),
        Tag(u8),
    }

    fn id(number: u8) -> Uuid {
        Uuid::from_u128(u128::from(number))
    }

    fn target() -> impl Strategy<Value = ResolutionTarget> {
        prop_oneof![
            (0..4_u8).prop_map(ResolutionTarget::Property),
            (0..4_u8).prop_map(ResolutionTarget::Group),
            (0..4_u8).prop_map(ResolutionTarget::Tag)
        ]
    }

    proptest! {
        /// Compares `resolve` with the rule (rules: portals#portal-of-a-property), applied
        /// literally to the list of assignments.
        #[test]
        fn portal_resolution_agrees_with_the_spec(
            // A portal is a number here. A portal with a lower number was created earlier.
            mut scopes in prop::collection::vec((0..6_u8, target()), 0..12),
            property in 0..4_u8,
            group in prop::option::of(0..4_u8),
            tags in prop::collection::vec(0..4_u8, 0..4),
            default in prop::option::of(0..6_u8),
        ) {
            scopes.sort_by_key(|(portal, _)| *portal);
            let mut assignments = Assignments::new(default.map(id));
            for (portal, target) in &scopes {
                match target {
                    ResolutionTarget::Property(number) => {
                        assignments.add_direct(id(*number), id(*portal));
                    }
                    ResolutionTarget::Group(number) => {
                        assignments.add_group(id(*number), id(*portal));
                    }
                    ResolutionTarget::Tag(number) => assignments.add_tag(id(*number), id(*portal)),
                }
            }
            let first = |fits: &dyn Fn(&ResolutionTarget) -> bool| {
                scopes
                    .iter()
                    .find(|(_, target)| fits(target))
                    .map(|(portal, _)| *portal)
            };
            let expected = first(&|target| {
                matches!(target, ResolutionTarget::Property(number) if *number == property)
            })
            .or_else(|| {
                first(&|target| {
                    matches!(target, ResolutionTarget::Group(number) if Some(*number) == group)
                })
            })
            .or_else(|| {
                first(&|target| {
                    matches!(target, ResolutionTarget::Tag(number) if tags.contains(number))
                })
            })
            .or(default);
            let placement = Placement {
                property: id(property),
                group: group.map(id),
                tags: tags.iter().copied().map(id).collect(),
            };
            prop_assert_eq!(
                resolve(&placement, &assignments).map(|resolved| resolved.portal),
                expected.map(id)
            );
        }
    }
}

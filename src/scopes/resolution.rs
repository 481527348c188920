//! Which portal a property gets (spec: Portal resolution): one assigned directly; else one scoped to its group; else one
//! scoped to one of its tags; else the organization's default. Where several compete, the portal created first wins.

use std::collections::HashMap;

use uuid::Uuid;

/// Where a property stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placement {
    /// The property.
    pub property: Uuid,
    /// Its group.
    pub group: Option<Uuid>,
    /// Its tags.
    pub tags: Vec<Uuid>,
}

/// What portals are assigned to.
#[derive(Debug, Clone, Default)]
pub struct Assignments {
    direct: HashMap<Uuid, Uuid>,
    groups: HashMap<Uuid, (usize, Uuid)>,
    tags: HashMap<Uuid, (usize, Uuid)>,
    default: Option<Uuid>,
    added: usize,
}

/// How an assignment reaches a property.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Route {
    /// Assigned to the property itself.
    Direct,
    /// Scoped to its group.
    Group(Uuid),
    /// Scoped to one of its tags.
    Tag(Uuid),
    /// The organization's default.
    Default,
}

/// A portal and how it came to be the one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Resolved {
    /// The portal.
    pub portal: Uuid,
    /// How it reached the property.
    pub route: Route,
}

impl Assignments {
    /// Without any assignment but the default portal.
    #[must_use]
    pub fn new(default: Option<Uuid>) -> Self {
        Self { default, ..Self::default() }
    }

    /// Adds an assignment to a property. To be called in the order in which the portals were created, like the two below.
    pub fn add_direct(&mut self, property: Uuid, portal: Uuid) {
        self.direct.entry(property).or_insert(portal);
    }

    /// Adds a scope on a group.
    pub fn add_group(&mut self, group: Uuid, portal: Uuid) {
        self.added += 1;
        self.groups.entry(group).or_insert((self.added, portal));
    }

    /// Adds a scope on a tag.
    pub fn add_tag(&mut self, tag: Uuid, portal: Uuid) {
        self.added += 1;
        self.tags.entry(tag).or_insert((self.added, portal));
    }
}

/// The portal a property gets; `None` where nothing is assigned and there is no default.
#[must_use]
pub fn resolve(placement: &Placement, assignments: &Assignments) -> Option<Resolved> {
    let direct = || assignments.direct.get(&placement.property).map(|portal| Resolved { portal: *portal, route: Route::Direct });
    let group = || {
        let group = placement.group?;
        assignments.groups.get(&group).map(|(_, portal)| Resolved { portal: *portal, route: Route::Group(group) })
    };
    let tag = || {
        let scoped = placement.tags.iter().filter_map(|tag| assignments.tags.get(tag).map(|(order, portal)| (order, *portal, *tag)));
        scoped.min().map(|(_, portal, tag)| Resolved { portal, route: Route::Tag(tag) })
    };
    let default = || assignments.default.map(|portal| Resolved { portal, route: Route::Default });
    direct().or_else(group).or_else(tag).or_else(default)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[derive(Debug, Clone, Copy)]
    enum Target {
        Property(u8),
        Group(u8),
        Tag(u8),
    }

    fn id(number: u8) -> Uuid {
        Uuid::from_u128(u128::from(number))
    }

    fn target() -> impl Strategy<Value = Target> {
        prop_oneof![(0..4_u8).prop_map(Target::Property), (0..4_u8).prop_map(Target::Group), (0..4_u8).prop_map(Target::Tag)]
    }

    proptest! {
        /// Against the sentence of the spec, read literally over the list of assignments.
        #[test]
        fn agrees_with_the_sentence(
            // The portal's number is the order of its creation.
            mut scopes in prop::collection::vec((0..6_u8, target()), 0..12),
            property in 0..4_u8, group in prop::option::of(0..4_u8), tags in prop::collection::vec(0..4_u8, 0..4), default in prop::option::of(0..6_u8),
        ) {
            scopes.sort_by_key(|(portal, _)| *portal);
            let mut assignments = Assignments::new(default.map(id));
            for (portal, target) in &scopes {
                match target {
                    Target::Property(number) => assignments.add_direct(id(*number), id(*portal)),
                    Target::Group(number) => assignments.add_group(id(*number), id(*portal)),
                    Target::Tag(number) => assignments.add_tag(id(*number), id(*portal)),
                }
            }
            let first = |fits: &dyn Fn(&Target) -> bool| scopes.iter().find(|(_, target)| fits(target)).map(|(portal, _)| *portal);
            let expected = first(&|target| matches!(target, Target::Property(number) if *number == property))
                .or_else(|| first(&|target| matches!(target, Target::Group(number) if Some(*number) == group)))
                .or_else(|| first(&|target| matches!(target, Target::Tag(number) if tags.contains(number))))
                .or(default);
            let placement = Placement { property: id(property), group: group.map(id), tags: tags.iter().copied().map(id).collect() };
            prop_assert_eq!(resolve(&placement, &assignments).map(|resolved| resolved.portal), expected.map(id));
        }
    }
}

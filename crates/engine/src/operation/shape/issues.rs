//! Failing fields, collected.

use std::borrow::Cow;
use std::collections::hash_map::RandomState;
use std::collections::{BTreeMap, HashSet};
use std::hash::BuildHasher as _;

use serde_json::Value;

use super::super::{Findings, Operation, Rules};
use crate::error::{Error, Issue, MOST_ISSUES, PathSegment, Reason, Result};

/// Failing fields, one issue each: the first that is found. As many as a refusal names, and a count of the others.
pub(super) struct Issues {
    /// How far down a path leads: a query parameter is named as a whole, whichever of its values fails.
    depth: usize,
    named: BTreeMap<Vec<PathSegment>, Reason>,
    /// The fingerprints of the paths that are only counted, so that each counts once.
    counted: HashSet<u64>,
    fingerprints: RandomState,
}

impl Issues {
    /// None yet.
    pub(super) fn of(operation: &Operation) -> Self {
        let depth = if operation.has_body() { usize::MAX } else { 1 };
        Self { depth, named: BTreeMap::new(), counted: HashSet::new(), fingerprints: RandomState::new() }
    }

    /// Adds one, unless the field has one already.
    pub(super) fn add(&mut self, mut path: Vec<PathSegment>, reason: impl Into<Reason>) {
        path.truncate(self.depth);
        if self.named.len() < MOST_ISSUES {
            self.named.entry(path).or_insert_with(|| reason.into());
        } else if !self.named.contains_key(&path) {
            self.counted.insert(self.fingerprints.hash_one(&path));
        }
    }

    /// Whether nothing is wrong.
    pub(super) fn is_empty(&self) -> bool {
        self.named.is_empty()
    }

    /// Whether something is wrong that is not named. What else is wrong is not looked for then.
    pub(super) fn is_over(&self) -> bool {
        !self.counted.is_empty()
    }

    /// Whether something is wrong with a field, with what it is in or with what is in it.
    pub(super) fn concerns(&self, path: &[PathSegment]) -> bool {
        self.named.keys().any(|failing| path.starts_with(failing) || failing.starts_with(path))
    }

    /// The names of the fields in which something was found wrong.
    fn failing(&self) -> Vec<&str> {
        let name = |path| match fields(path)[..] {
            ["data", name, ..] | [name, ..] => Some(name),
            [] => None,
        };
        self.named.keys().filter_map(|path| name(path)).collect()
    }

    /// The input without the fields in which something was found wrong.
    fn without_failing<'i>(&self, input: &'i Value) -> Cow<'i, Value> {
        if self.is_empty() {
            return Cow::Borrowed(input);
        }
        let mut rest = input.clone();
        for path in self.named.keys() {
            if let Some((name, above)) = fields(path).split_last()
                && let Some(object) = above.iter().try_fold(&mut rest, |value, key| value.get_mut(key))
            {
                object.as_object_mut().map(|object| object.remove(*name));
            }
        }
        Cow::Owned(rest)
    }

    /// Adds what the rules say of the input. What the state may change is said beside something else alone: by itself it comes
    /// after whatever the function refuses first.
    pub(super) fn judge(&mut self, rules: Option<&Rules>, input: &Value) {
        let Some(rules) = rules.filter(|_| !self.is_over()) else { return };
        let Findings { sent, merged } = rules(&self.without_failing(input), &self.failing());
        self.add_found(sent);
        if !self.is_empty() && !self.is_over() {
            self.add_found(merged);
        }
    }

    /// Adds what rules found, as far as nothing is wrong with it yet.
    pub(super) fn add_found(&mut self, found: Vec<Issue>) {
        for Issue { path, reason } in found {
            if !self.concerns(&path) {
                self.add(path, reason);
            }
        }
    }

    /// 400 with what is wrong, if anything is.
    pub(super) fn into_result(self) -> Result<()> {
        if self.is_empty() {
            return Ok(());
        }
        let issues = self.named.into_iter().map(|(path, reason)| Issue { path, reason });
        Err(Error::issues_and(issues.collect(), self.counted.len()))
    }
}

/// The names along a path, down to the first list.
fn fields(path: &[PathSegment]) -> Vec<&str> {
    path.iter().map_while(|step| if let PathSegment::Key(name) = step { Some(name.as_str()) } else { None }).collect()
}

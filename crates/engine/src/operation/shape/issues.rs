//! Collects the issues of a request, up to a maximum.

use std::borrow::Cow;
use std::collections::btree_map::Entry;
use std::collections::hash_map::RandomState;
use std::collections::{BTreeMap, HashSet};
use std::hash::BuildHasher as _;

use serde_json::{Value, json};

use super::super::{FilteredList, Findings, Operation, Rules};
use crate::error::{Error, Issue, MAX_ISSUES, PathSegment, Reason, Result};

/// The issues of a request: the first issue of each field. Up to [`MAX_ISSUES`] issues are stored,
/// and the others are only counted.
pub(super) struct Issues {
    /// The number of segments after which the path of an issue is cut. It is 1 for query
    /// parameters, so that a parameter has one issue even if several of its values fail.
    depth: usize,
    kept: BTreeMap<Vec<PathSegment>, Reason>,
    /// Hashes of the paths whose issues are counted but not stored. A path with several issues
    /// counts once.
    counted: HashSet<u64>,
    fingerprints: RandomState,
    /// The invalid items that are removed from a list; `None` if one invalid item makes the
    /// pipeline refuse the whole request.
    invalid_items: Option<InvalidItems>,
}

/// The maximum number of issues that are stored for one invalid item of a list. Further issues of
/// the item are dropped.
const MAX_ISSUES_OF_ITEM: usize = 20;

/// The invalid items of a list, by index. Issues are stored only for the first [`MAX_ISSUES`]
/// invalid items.
struct InvalidItems {
    list: &'static str,
    items: BTreeMap<usize, BTreeMap<Vec<PathSegment>, Reason>>,
}

impl InvalidItems {
    /// Returns the index of the item of `list` that contains the field at this path. Returns `None`
    /// if the field is outside of the list.
    fn index(&self, path: &[PathSegment]) -> Option<usize> {
        match path {
            [PathSegment::Key(list), PathSegment::Index(index), ..] if list == self.list => {
                Some(*index)
            }
            _ => None,
        }
    }

    /// Marks an item as invalid. Also stores the issue, unless the maximum number of issues is
    /// reached.
    fn add(
        &mut self,
        index: usize,
        path: Vec<PathSegment>,
        reason: impl FnOnce(&[PathSegment]) -> Reason,
    ) {
        let has_space = self.items.len() < MAX_ISSUES || self.items.contains_key(&index);
        let issues = self.items.entry(index).or_default();
        if has_space && issues.len() < MAX_ISSUES_OF_ITEM && !issues.contains_key(&path) {
            let reason = reason(&path);
            issues.insert(path, reason);
        }
    }
}

impl Issues {
    /// Creates a collection without issues, for the input of this operation.
    pub(super) fn of(operation: &Operation) -> Self {
        let depth = if operation.has_body() { usize::MAX } else { 1 };
        Self {
            depth,
            kept: BTreeMap::new(),
            counted: HashSet::new(),
            fingerprints: RandomState::new(),
            invalid_items: None,
        }
    }

    /// If the body asks to leave out the invalid items of a list, starts to collect these items.
    pub(super) fn filter_invalid_items(&mut self, sifts: Option<&FilteredList>, body: &Value) {
        self.invalid_items = sifts
            .filter(|sifts| body[sifts.field] == sifts.value)
            .map(|sifts| InvalidItems {
                list: sifts.list,
                items: BTreeMap::new(),
            });
    }

    /// Removes the invalid items from their list. Adds them to the input as a list under
    /// [`FilteredList::LEFT_OUT`], each with its index and its issues, in the order of the items.
    pub(super) fn take_invalid_items(&mut self, input: &mut Value) {
        let Some(InvalidItems { list, items }) = self.invalid_items.take() else {
            return;
        };
        let Some(all) = input.get_mut(list).and_then(Value::as_array_mut) else {
            return;
        };
        let mut left_out = Vec::with_capacity(items.len());
        for (index, issues) in items {
            let issues: Vec<Issue> = issues
                .into_iter()
                .map(|(path, reason)| Issue { path, reason })
                .collect();
            let item = all.get_mut(index).map(Value::take);
            left_out.push(json!({ "index": index, "item": item, "issues": issues }));
        }
        let mut invalid_indices = left_out
            .iter()
            .filter_map(|item| item["index"].as_u64())
            .peekable();
        let mut index = 0;
        all.retain(|_| {
            let is_invalid = invalid_indices.next_if_eq(&index).is_some();
            index += 1;
            !is_invalid
        });
        if let Some(fields) = input.as_object_mut() {
            fields.insert(FilteredList::LEFT_OUT.into(), left_out.into());
        }
    }

    /// Adds an issue, unless the field already has one.
    pub(super) fn add(&mut self, path: Vec<PathSegment>, reason: impl Into<Reason>) {
        self.add_with(path, |_| reason.into());
    }

    /// Adds an issue, unless the field already has one. The function `reason` may be slow, so it is
    /// called only if the issue is stored.
    pub(super) fn add_with(
        &mut self,
        mut path: Vec<PathSegment>,
        reason: impl FnOnce(&[PathSegment]) -> Reason,
    ) {
        if let Some(invalid_items) = &mut self.invalid_items
            && let Some(index) = invalid_items.index(&path)
        {
            return invalid_items.add(index, path, reason);
        }
        path.truncate(self.depth);
        if self.kept.len() < MAX_ISSUES {
            if let Entry::Vacant(entry) = self.kept.entry(path) {
                let reason = reason(entry.key());
                entry.insert(reason);
            }
        } else if !self.kept.contains_key(&path) {
            self.counted.insert(self.fingerprints.hash_one(&path));
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.kept.is_empty()
    }

    /// Returns whether more issues were found than are stored. If so, the remaining checks are
    /// skipped.
    pub(super) fn is_over(&self) -> bool {
        !self.counted.is_empty()
    }

    /// Returns whether there is an issue of the field at this path, of a field inside it, or of a
    /// field around it.
    pub(super) fn concerns(&self, path: &[PathSegment]) -> bool {
        self.kept
            .keys()
            .any(|failing_path| path.starts_with(failing_path) || failing_path.starts_with(path))
    }

    /// Returns the names of the top-level fields with an issue.
    fn failing(&self) -> Vec<&str> {
        let name = |path| match fields(path)[..] {
            ["data", name, ..] | [name, ..] => Some(name),
            [] => None,
        };
        self.kept.keys().filter_map(|path| name(path)).collect()
    }

    /// Returns the input without the fields that have an issue.
    fn without_failing<'i>(&self, input: &'i Value) -> Cow<'i, Value> {
        if self.is_empty() {
            return Cow::Borrowed(input);
        }
        let mut rest = input.clone();
        for path in self.kept.keys() {
            if let Some((name, parents)) = fields(path).split_last()
                && let Some(object) = parents
                    .iter()
                    .try_fold(&mut rest, |value, key| value.get_mut(key))
            {
                object.as_object_mut().map(|object| object.remove(*name));
            }
        }
        Cow::Owned(rest)
    }

    /// Adds the issues that the rules find in the sent fields. If there is now any issue, the
    /// operation does not run. This function then also adds the issues that the rules find in the
    /// merged state (stored and sent fields together). Without an issue the operation runs, and
    /// reports the issues of the merged state itself, after its earlier checks.
    pub(super) fn apply_rules(&mut self, rules: Option<&Rules>, input: &Value) {
        let Some(rules) = rules.filter(|_| !self.is_over()) else {
            return;
        };
        let Findings { sent, merged } = rules(&self.without_failing(input), &self.failing());
        self.add_all(sent);
        if !self.is_empty() && !self.is_over() {
            self.add_all(merged);
        }
    }

    /// Adds those issues whose field has no issue yet.
    pub(super) fn add_all(&mut self, found: Vec<Issue>) {
        for Issue { path, reason } in found {
            if !self.concerns(&path) {
                self.add(path, reason);
            }
        }
    }

    /// Returns the issues that are stored.
    pub(super) fn into_issues(self) -> Vec<Issue> {
        let issues = self.kept.into_iter();
        issues
            .map(|(path, reason)| Issue { path, reason })
            .collect()
    }

    /// Returns 400 if there is an issue.
    pub(super) fn into_result(self) -> Result<()> {
        if self.is_empty() {
            return Ok(());
        }
        let issues = self
            .kept
            .into_iter()
            .map(|(path, reason)| Issue { path, reason });
        Err(Error::issues_and(issues.collect(), self.counted.len()))
    }
}

/// Returns the field names of a path, up to the first list.
fn fields(path: &[PathSegment]) -> Vec<&str> {
    path.iter()
        .map_while(|step| {
            if let PathSegment::Key(name) = step {
                Some(name.as_str())
            } else {
                None
            }
        })
        .collect()
}

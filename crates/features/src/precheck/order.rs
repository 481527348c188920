//! The order in which a guest sees the steps (rules: steps#order).

use std::cmp::Ordering;

use engine::moment::Moment;
use uuid::Uuid;

use super::StepType;

/// The fields of a step that decide its position in the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SortKey {
    /// The type of the step. In the automatic order, steps are sorted by the group of their type
    /// first.
    pub step_type: StepType,
    /// Zero-based position. A step without a position sorts after all others.
    pub sort_order: Option<u32>,
    /// Time of creation, which orders steps with the same position.
    pub created_at: Moment,
    /// The id, which orders steps with the same position and time of creation.
    pub id: Uuid,
}

/// Returns whether two types of steps are in the same group. The automatic order compares positions
/// only within a group.
#[must_use]
pub const fn is_together(one: StepType, other: StepType) -> bool {
    one.order_group() == other.order_group()
}

/// Compares two steps. If `is_automatic`, the group of the type decides first and the position
/// second. Otherwise only the position decides. Time of creation and id break ties.
#[must_use]
pub fn compare(one: &SortKey, other: &SortKey, is_automatic: bool) -> Ordering {
    let key = |step: &SortKey| {
        let group = if is_automatic {
            step.step_type.order_group()
        } else {
            0
        };
        (
            group,
            step.sort_order.is_none(),
            step.sort_order,
            step.created_at,
            step.id,
        )
    };
    key(one).cmp(&key(other))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use strum::VariantArray;

    use super::super::step_type::tests::GROUPS;
    use super::*;

    fn sort_key() -> impl Strategy<Value = SortKey> {
        (
            prop::sample::select(StepType::VARIANTS),
            prop::option::of(0..4_u32),
            0..3_i64,
            any::<u128>(),
        )
            .prop_map(|(step_type, sort_order, second, id)| SortKey {
                step_type,
                sort_order,
                created_at: Moment(jiff::Timestamp::from_second(second).unwrap()),
                id: Uuid::from_u128(id),
            })
    }

    /// Sorts the keys of steps by the group of the step type, and by position within a group.
    /// Without automatic order, all types form one group. This is a second, simpler implementation,
    /// with which the test compares [`compare`].
    fn by_hand(mut keys: Vec<SortKey>, is_automatic: bool) -> Vec<SortKey> {
        keys.sort_by_key(|step| step.id);
        keys.sort_by_key(|step| step.created_at);
        let mut ordered = Vec::new();
        let groups: Vec<&[StepType]> = if is_automatic {
            GROUPS.to_vec()
        } else {
            vec![StepType::VARIANTS]
        };
        for group in groups {
            for position in (0..4).map(Some).chain([None]) {
                ordered.extend(
                    keys.iter().filter(|step| {
                        group.contains(&step.step_type) && step.sort_order == position
                    }),
                );
            }
        }
        ordered
    }

    proptest! {
        #[test]
        fn the_order_of_steps_agrees_with_the_spec(
            keys in prop::collection::vec(sort_key(), 0..20),
            is_automatic: bool,
        ) {
            let mut sorted = keys.clone();
            sorted.sort_by(|one, other| compare(one, other, is_automatic));
            prop_assert_eq!(sorted, by_hand(keys, is_automatic));
        }
    }
}

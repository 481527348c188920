//! The order in which a guest meets the steps (rules: steps#order).

use std::cmp::Ordering;

use engine::moment::Moment;
use uuid::Uuid;

use super::StepType;

/// The fields of a step that decide its position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SortKey {
    /// Decides the group.
    pub step_type: StepType,
    /// Zero-based; a step without it sorts last.
    pub sort_order: Option<u32>,
    /// Breaks ties.
    pub created_at: Moment,
    /// Breaks the remaining ties.
    pub id: Uuid,
}

/// Returns the group of a type in the automatic order.
const fn group(step_type: StepType) -> u8 {
    match step_type {
        StepType::YourDetails => 0,
        StepType::IdentityCheck => 1,
        StepType::BackgroundCheck => 2,
        StepType::OtherGuests | StepType::AuthorityReporting => 3,
        StepType::AdditionalQuestions => 4,
        StepType::DocumentUpload => 5,
        StepType::Agreement => 6,
        StepType::MandatoryFee => 7,
        StepType::DamageDeposit | StepType::ScreenAndProtect => 8,
        StepType::Main => 9,
    }
}

/// Whether two types share a group, so that the automatic order compares their positions.
#[must_use]
pub const fn is_together(one: StepType, other: StepType) -> bool {
    group(one) == group(other)
}

/// Compares two steps. The automatic order compares the group and then the position; the other
/// order compares the position alone.
#[must_use]
pub fn compare(one: &SortKey, other: &SortKey, is_automatic: bool) -> Ordering {
    let key = |step: &SortKey| {
        let group = if is_automatic {
            group(step.step_type)
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

    use super::*;

    /// The automatic order, group by group (rules: steps#order, 1).
    const GROUPS: [&[StepType]; 10] = [
        &[StepType::YourDetails],
        &[StepType::IdentityCheck],
        &[StepType::BackgroundCheck],
        &[StepType::OtherGuests, StepType::AuthorityReporting],
        &[StepType::AdditionalQuestions],
        &[StepType::DocumentUpload],
        &[StepType::Agreement],
        &[StepType::MandatoryFee],
        &[StepType::DamageDeposit, StepType::ScreenAndProtect],
        &[StepType::Main],
    ];

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

    /// Sorts the steps by taking them out one after another.
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
        fn the_order_of_steps_agrees_with_the_spec(keys in prop::collection::vec(sort_key(), 0..20), is_automatic: bool) {
            let mut sorted = keys.clone();
            sorted.sort_by(|one, other| compare(one, other, is_automatic));
            prop_assert_eq!(sorted, by_hand(keys, is_automatic));
        }
    }
}

//! Computes which positions change when a member moves a step. Each changed position needs an
//! update of a step, so the number of changed positions should be small.

use uuid::Uuid;

/// Distance between two new positions. The gap allows a later move to update only one step.
const GAP: u32 = 10;

/// Returns the steps that need a new position, each with that position. `new_order` lists all steps
/// in the new order, each with its current position. If the other steps are in order and there is a
/// free position between the new neighbours of the moved step, only the moved step gets a new
/// position. Otherwise every step that is out of order or follows a very large gap gets one.
pub fn changes(new_order: &[(Uuid, Option<u32>)], moved: Uuid) -> Vec<(Uuid, u32)> {
    if is_ordered(new_order) {
        return Vec::new();
    }
    if let Some(position) = between(new_order, moved) {
        return vec![(moved, position)];
    }
    let mut changes = Vec::new();
    let mut next = 0;
    for (id, position) in new_order {
        match position {
            // A step that is still in order keeps its position. If the gap before this position is
            // 1,000 or more, the step gets a smaller position instead.
            Some(position) if *position >= next && *position - next < GAP * 100 => {
                next = position + 1;
            }
            _ => {
                let given = next.next_multiple_of(GAP);
                changes.push((*id, given));
                next = given + 1;
            }
        }
    }
    changes
}

/// Returns a position for the moved step between its two neighbours. Returns `None` if there is no
/// gap between them, or if the other steps are not in order.
fn between(new_order: &[(Uuid, Option<u32>)], moved: Uuid) -> Option<u32> {
    let place = new_order.iter().position(|(id, _)| *id == moved)?;
    let others: Vec<_> = new_order
        .iter()
        .filter(|(id, _)| *id != moved)
        .copied()
        .collect();
    if !is_ordered(&others) {
        return None;
    }
    let before = if place == 0 {
        None
    } else {
        Some(new_order[place - 1].1?)
    };
    let behind = new_order.get(place + 1).map(|(_, position)| *position);
    match (before, behind) {
        (None, Some(Some(behind))) => {
            Some(behind.checked_sub(1)? / 2).filter(|given| *given < behind)
        }
        (Some(before), Some(Some(behind))) => {
            Some(before + (behind - before) / 2).filter(|given| *given > before)
        }
        (Some(before), Some(None) | None) => before.checked_add(GAP),
        (None, Some(None) | None) => Some(0),
    }
}

/// Returns whether sorting by position gives the order of `steps`. The positions must increase, and
/// only the last step may have no position.
fn is_ordered(steps: &[(Uuid, Option<u32>)]) -> bool {
    steps.windows(2).all(|pair| match (pair[0].1, pair[1].1) {
        (Some(one), Some(other)) => one < other,
        (Some(_), None) => true,
        (None, _) => false,
    })
}

/// Returns the order after a step was moved up or down by one position.
pub fn stepped(mut order: Vec<Uuid>, moved: Uuid, is_up: bool) -> Vec<Uuid> {
    if let Some(place) = order.iter().position(|id| *id == moved) {
        let other = if is_up {
            place.checked_sub(1)
        } else {
            Some(place + 1).filter(|next| *next < order.len())
        };
        if let Some(other) = other {
            order.swap(place, other);
        }
    }
    order
}

/// Returns the order after a step was dragged. `part` has the steps of the shown page in their
/// order after the drag. The moved step comes after its predecessor in `part`. If it is the first
/// in `part`, it comes before its successor.
pub fn dragged(order: &[Uuid], part: &[Uuid], moved: Uuid) -> Vec<Uuid> {
    let Some(place) = part
        .iter()
        .position(|id| *id == moved)
        .filter(|_| order.contains(&moved))
    else {
        return order.to_vec();
    };
    let mut others: Vec<Uuid> = order.iter().copied().filter(|id| *id != moved).collect();
    let find = |neighbour: Option<&Uuid>| {
        neighbour.and_then(|neighbour| others.iter().position(|id| id == neighbour))
    };
    let behind =
        find(place.checked_sub(1).and_then(|before| part.get(before))).map(|before| before + 1);
    let at = behind
        .or_else(|| find(part.get(place + 1)))
        .unwrap_or(others.len());
    others.insert(at, moved);
    others
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn id(number: usize) -> Uuid {
        Uuid::from_u128(number as u128)
    }

    fn steps(positions: &[Option<u32>]) -> Vec<(Uuid, Option<u32>)> {
        positions
            .iter()
            .enumerate()
            .map(|(number, position)| (id(number), *position))
            .collect()
    }

    #[test]
    fn a_move_between_free_positions_changes_a_single_step() {
        assert_eq!(
            changes(&steps(&[Some(10), Some(40), Some(20)]), id(1)),
            [(id(1), 15)]
        );
        assert_eq!(
            changes(&steps(&[Some(20), Some(10), Some(30)]), id(0)),
            [(id(0), 4)]
        );
        assert_eq!(
            changes(&steps(&[Some(1), Some(2), Some(0)]), id(2)),
            [(id(2), 12)]
        );
        assert!(changes(&steps(&[Some(1), Some(2), None]), id(1)).is_empty());
    }

    #[test]
    fn a_move_without_free_positions_renumbers_the_steps() {
        assert_eq!(
            changes(&steps(&[None, None, None]), id(1)),
            [(id(0), 0), (id(1), 10), (id(2), 20)]
        );
        assert_eq!(
            changes(&steps(&[Some(1), Some(0)]), id(0)),
            [(id(0), 0), (id(1), 10)]
                .into_iter()
                .skip(1)
                .collect::<Vec<_>>()
        );
    }

    #[test]
    fn a_step_is_moved_to_the_requested_place() {
        let order: Vec<Uuid> = (0..5).map(id).collect();
        assert_eq!(stepped(order.clone(), id(2), true), [0, 2, 1, 3, 4].map(id));
        assert_eq!(stepped(order.clone(), id(4), false), order);
        assert_eq!(
            dragged(&order, &[1, 3, 2].map(id), id(3)),
            [0, 1, 3, 2, 4].map(id)
        );
        assert_eq!(
            dragged(&order, &[3, 1, 2].map(id), id(3)),
            [0, 3, 1, 2, 4].map(id)
        );
        assert_eq!(dragged(&order, &[9].map(id), id(9)), order);
    }

    proptest! {
        /// The positions that [`changes`] returns put the steps into the wanted order, whatever
        /// positions the steps had before.
        #[test]
        fn new_positions_give_the_wanted_order(
            positions in prop::collection::vec(prop::option::of(0..60_u32), 1..12),
            moved in 0..12_usize,
        ) {
            let mut new_order = steps(&positions);
            for (id, position) in changes(&steps(&positions), id(moved % positions.len())) {
                new_order
                    .iter_mut()
                    .find(|(known, _)| *known == id)
                    .unwrap()
                    .1 = Some(position);
            }
            prop_assert!(is_ordered(&new_order), "{:?}", new_order);
        }
    }
}

//! A stay with the data that the rules depend on: the reservation, its flat, and the portal that
//! serves the flat.

use std::sync::Arc;

use engine::context::Context;
use engine::error::{Error, Result};
use jiff::civil::{Date, Time};
use jiff::tz::TimeZone;
use uuid::Uuid;

use super::recognition::{self, RecognitionNeeds};
use crate::portals::{self, Portal};
use crate::precheck::TargetingInput;
use crate::records::{Property, RecordKind, Reservation, ReservationStatus, record_as};
use crate::scopes::{
    Placement, PortalSource, ResolvedPortal, Target, TargetKind, effective_portal,
};

/// A reservation with its property, if it has one.
pub(crate) struct Stay {
    /// The reservation's id.
    pub id: Uuid,
    /// The reservation, completed with facts about its guest ([`recognition::complete`]).
    pub reservation: Reservation,
    /// The flat; `None` while the reservation has no flat.
    pub flat: Option<Arc<StayFlat>>,
}

/// The property of a stay, with the portal that serves it.
pub(crate) struct StayFlat {
    pub property: Property,
    /// The property's id, group and tags.
    pub placement: Placement,
    /// The portal that serves the flat, and the assignment that selects this portal.
    pub portal: Option<(Portal, ResolvedPortal)>,
}

impl Stay {
    /// Loads a stay; 404 if the reservation does not exist.
    pub(crate) fn load(context: &mut Context<'_, '_>, id: Uuid) -> Result<Self> {
        let mut reservation = reservation(context, id)?;
        recognition::complete(context, id, &mut reservation, RecognitionNeeds::BOTH)?;
        let flat = StayFlat::load(context, reservation.property_id)?;
        Ok(Self {
            id,
            reservation,
            flat: flat.map(Arc::new),
        })
    }

    /// Returns whether the reservation is cancelled. A guest of a cancelled stay is asked for
    /// nothing and sees no door code.
    pub(crate) fn is_cancelled(&self) -> bool {
        self.reservation.status == ReservationStatus::Cancelled
    }

    /// Returns whether the booking is not confirmed yet. The guest of such a stay gets no Wi-Fi
    /// network, no door codes and no wallet pass (rules: stays#tentative-stays).
    pub(crate) fn is_tentative(&self) -> bool {
        self.reservation.status == ReservationStatus::Tentative
    }

    /// Returns the times of check-in and check-out that the clock of the flat shows. A time that
    /// the clock skips on that day moves forward by the length of the gap.
    pub(crate) fn times(&self) -> [Option<Time>; 2] {
        let (stay, zone) = (&self.reservation, self.zone());
        let flat = self.flat.as_ref().map(|flat| &flat.property);
        [
            (stay.check_in, stay.arrival_time(flat)),
            (stay.check_out, stay.departure_time(flat)),
        ]
        .map(|(day, time)| time.map(|time| time_on_clock(day, time, &zone)))
    }

    /// Returns the portal that serves the flat.
    pub(crate) fn portal(&self) -> Option<&Portal> {
        self.flat.as_ref()?.portal()
    }

    /// Lists the flat and its group, tags and portal. An entity that is assigned to any of them
    /// applies to the flat.
    pub(crate) fn targets(&self) -> Vec<Target> {
        self.flat
            .as_ref()
            .map(|flat| flat.targets())
            .unwrap_or_default()
    }

    /// Returns the flat's time zone; UTC without a flat.
    pub(crate) fn zone(&self) -> TimeZone {
        self.flat
            .as_ref()
            .and_then(|flat| TimeZone::get(&flat.property.timezone).ok())
            .unwrap_or(TimeZone::UTC)
    }

    /// Returns the number of guests besides the guest who booked; `None` if the reservation has no
    /// number of guests.
    pub(crate) fn other_guests(&self) -> Option<u32> {
        let Reservation {
            adults, children, ..
        } = &self.reservation;
        let counted = [adults, children]
            .into_iter()
            .flatten()
            .copied()
            .reduce(u32::saturating_add);
        counted.map(|guests| guests.saturating_sub(1))
    }

    /// Returns the data that the targeting rules of steps depend on.
    pub(crate) fn targeting_input(&self) -> TargetingInput {
        let reservation = &self.reservation;
        TargetingInput {
            check_in: reservation.check_in,
            check_out: reservation.check_out,
            booked_on: reservation.booked_at.0.to_zoned(self.zone()).date(),
            channel: reservation.channel.clone(),
            is_returning: reservation.is_returning_guest.unwrap_or(false),
        }
    }
}

impl StayFlat {
    /// Loads the flat of a reservation; `None` if it has no flat, or if the flat is deleted.
    pub(crate) fn load(context: &mut Context<'_, '_>, id: Option<Uuid>) -> Result<Option<Self>> {
        let Some(id) = id else { return Ok(None) };
        let Some(property) = record_as::<Property>(context, RecordKind::Property, id)? else {
            return Ok(None);
        };
        let placement = placement(id, &property);
        let portal = match effective_portal(context, &placement)? {
            Some(resolved) => {
                portals::find_portal(context, resolved.portal)?.map(|portal| (portal, resolved))
            }
            None => None,
        };
        Ok(Some(Self {
            property,
            placement,
            portal,
        }))
    }

    /// Builds the flat of a property with `portal` as its portal, whichever portal serves the
    /// property.
    pub(super) fn served_by(portal: Portal, id: Uuid, property: Property) -> Self {
        let resolved = ResolvedPortal {
            portal: portal.id,
            source: PortalSource::Direct,
        };
        Self {
            placement: placement(id, &property),
            property,
            portal: Some((portal, resolved)),
        }
    }

    /// Returns the portal that serves the flat.
    pub(crate) fn portal(&self) -> Option<&Portal> {
        self.portal.as_ref().map(|(portal, _)| portal)
    }

    /// Lists the flat and its group, tags and portal. An entity that is assigned to any of them
    /// applies to the flat.
    pub(crate) fn targets(&self) -> Vec<Target> {
        let Placement {
            property,
            group,
            tags,
        } = &self.placement;
        let group = group.map(|id| (TargetKind::PropertyGroup, id));
        let tags = tags.iter().map(|id| (TargetKind::Tag, *id));
        let portal = self.portal().map(|portal| (TargetKind::Portal, portal.id));
        [(TargetKind::Property, *property)]
            .into_iter()
            .chain(group)
            .chain(tags)
            .chain(portal)
            .collect()
    }
}

fn placement(id: Uuid, property: &Property) -> Placement {
    Placement {
        property: id,
        group: property.property_group_id,
        tags: property.tag_ids.clone().unwrap_or_default(),
    }
}

/// Returns the time that a clock in the time zone shows on `day` at the local time `time`. The
/// result differs from `time` only if the clocks skip `time` on that day.
fn time_on_clock(day: Date, time: Time, zone: &TimeZone) -> Time {
    let local = zone
        .to_timestamp(day.to_datetime(time))
        .map(|timestamp| zone.to_datetime(timestamp));
    match local {
        Ok(local) if local.date() == day => local.time(),
        _ => time,
    }
}

/// Reads the reservation of a stay; 404 if the reservation does not exist.
pub(crate) fn reservation(context: &mut Context<'_, '_>, id: Uuid) -> Result<Reservation> {
    record_as(context, RecordKind::Reservation, id)?.ok_or_else(|| Error::not_found("Stay"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_skipped_time_is_shown_moved_forward_by_the_length_of_the_gap() {
        let shown = |zone: &str, day: &str, time: &str| {
            let zone = TimeZone::get(zone).unwrap();
            let time = time_on_clock(day.parse().unwrap(), time.parse().unwrap(), &zone);
            time.strftime("%H:%M").to_string()
        };
        assert_eq!(shown("Europe/Madrid", "2026-03-29", "02:30"), "03:30");
        assert_eq!(shown("Europe/Madrid", "2026-03-29", "03:00"), "03:00");
        assert_eq!(shown("Europe/Madrid", "2026-10-25", "02:30"), "02:30");
        assert_eq!(shown("Australia/Lord_Howe", "2026-10-04", "02:15"), "02:45");
        // Samoa skipped 30 December 2011 to move across the date line. A time on that day moves
        // forward by 24 hours, so the shown time of day stays the same.
        assert_eq!(shown("Pacific/Apia", "2011-12-30", "15:00"), "15:00");
    }
}

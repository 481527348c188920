//! A stay as the rules see it: the reservation, its flat, and the portal that serves the flat.

use std::sync::Arc;

use engine::context::Context;
use engine::error::{Error, Result};
use engine::kit::Weighed;
use jiff::tz::TimeZone;
use uuid::Uuid;

use crate::portals::{self, Portal};
use crate::precheck::StayFacts;
use crate::records::{Kind, Property, Reservation, ReservationStatus, typed};
use crate::scopes::{Placement, Resolved, Route, Target, TargetKind, effective_portal};

/// About what a reservation takes in memory, in bytes.
const BOOKED: u64 = 2_048;

/// A stay.
pub(crate) struct Stay {
    /// The reservation's id.
    pub id: Uuid,
    /// The reservation.
    pub reservation: Reservation,
    /// The flat, once it is known.
    pub flat: Option<Arc<Flat>>,
}

/// The flat of a stay.
pub(crate) struct Flat {
    /// The property.
    pub property: Property,
    /// Where it stands.
    pub placement: Placement,
    /// The portal, and how it came to serve the flat.
    pub portal: Option<(Portal, Resolved)>,
}

impl Stay {
    /// Reads a stay; 404 where there is no such reservation.
    pub(crate) fn load(context: &mut Context<'_, '_>, id: Uuid) -> Result<Self> {
        let reservation = reservation(context, id)?;
        let flat = Flat::load(context, reservation.property_id)?;
        Ok(Self { id, reservation, flat: flat.map(Arc::new) })
    }

    /// Whether nobody is coming: nothing is asked then, and no door code told.
    pub(crate) fn is_cancelled(&self) -> bool {
        self.reservation.status == ReservationStatus::Cancelled
    }

    /// The portal that serves the flat.
    pub(crate) fn portal(&self) -> Option<&Portal> {
        self.flat.as_ref()?.portal()
    }

    /// What a step must be assigned to in order to reach the flat.
    pub(crate) fn targets(&self) -> Vec<Target> {
        self.flat.as_ref().map(|flat| flat.targets()).unwrap_or_default()
    }

    /// The flat's time zone.
    pub(crate) fn zone(&self) -> TimeZone {
        self.flat.as_ref().and_then(|flat| TimeZone::get(&flat.property.timezone).ok()).unwrap_or(TimeZone::UTC)
    }

    /// How many guests come besides the one who booked, where the reservation says how many come.
    pub(crate) fn others(&self) -> Option<u32> {
        let Reservation { adults, children, .. } = &self.reservation;
        let counted = [adults, children].into_iter().flatten().copied().reduce(u32::saturating_add);
        counted.map(|guests| guests.saturating_sub(1))
    }

    /// What the rules of steps look at.
    pub(crate) fn facts(&self) -> StayFacts {
        let reservation = &self.reservation;
        StayFacts {
            check_in: reservation.check_in,
            check_out: reservation.check_out,
            booked_on: reservation.booked_at.0.to_zoned(self.zone()).date(),
            channel: reservation.channel.clone(),
            is_returning: reservation.is_returning_guest.unwrap_or(false),
        }
    }
}

impl Flat {
    /// Reads the flat that a reservation names; nothing where it names none.
    pub(crate) fn load(context: &mut Context<'_, '_>, id: Option<Uuid>) -> Result<Option<Self>> {
        let Some(id) = id else { return Ok(None) };
        let Some(property) = typed::<Property>(context, Kind::Property, id)? else { return Ok(None) };
        let placement = placement(id, &property);
        let portal = match effective_portal(context, &placement)? {
            Some(resolved) => portals::find_portal(context, resolved.portal)?.map(|portal| (portal, resolved)),
            None => None,
        };
        Ok(Some(Self { property, placement, portal }))
    }

    /// A property as it would be if it were assigned to a portal, whichever serves it.
    pub(super) fn served_by(portal: Portal, id: Uuid, property: Property) -> Self {
        let resolved = Resolved { portal: portal.id, route: Route::Direct };
        Self { placement: placement(id, &property), property, portal: Some((portal, resolved)) }
    }

    /// The portal that serves it.
    pub(crate) fn portal(&self) -> Option<&Portal> {
        self.portal.as_ref().map(|(portal, _)| portal)
    }

    /// What a step must be assigned to in order to reach it.
    pub(crate) fn targets(&self) -> Vec<Target> {
        let Placement { property, group, tags } = &self.placement;
        let group = group.map(|id| (TargetKind::PropertyGroup, id));
        let tags = tags.iter().map(|id| (TargetKind::Tag, *id));
        let portal = self.portal().map(|portal| (TargetKind::Portal, portal.id));
        [(TargetKind::Property, *property)].into_iter().chain(group).chain(tags).chain(portal).collect()
    }
}

fn placement(id: Uuid, property: &Property) -> Placement {
    Placement { property: id, group: property.property_group_id, tags: property.tag_ids.clone().unwrap_or_default() }
}

/// The reservation of a stay; 404 where there is none.
pub(crate) fn reservation(context: &mut Context<'_, '_>, id: Uuid) -> Result<Reservation> {
    let key = id.to_string();
    let load = |context: &mut Context<'_, '_>| Ok(Booked(typed(context, Kind::Reservation, id)?));
    let Booked(reservation) = &*context.cached_with_records(&key, load)?;
    reservation.clone().ok_or_else(|| Error::not_found("Stay"))
}

/// A reservation, if there is one.
struct Booked(Option<Reservation>);

impl Weighed for Booked {
    /// Its texts are short, and bounded.
    fn weight(&self) -> u64 {
        BOOKED
    }
}

//! `vestibule demo`: serves a complete example organization, built from real listings, on a
//! temporary database.
//!
//! This file makes the organization, flats, reservations and portals. The submodules add the house
//! manuals, the pre-check-in steps, and what guests have done in some stays.

mod builder;
mod manuals;
mod precheckin;
mod stays;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use askama::Template;
use engine::access::{self, Permission};
use engine::clock::Clock;
use engine::ids::Ids;
use engine::pipeline::Service;
use jiff::civil::Date;
use jiff::{Timestamp, ToSpan as _};
use serde::Deserialize;
use serde_json::{Value, json};
use strum::VariantArray;
use uuid::Uuid;

use self::builder::DemoBuilder;
use super::local::LocalCaller;
use crate::config::ServeFlags;
use crate::server::{self, Server};

/// The flats that the five largest managers of short-term rentals in Barcelona list; see
/// `data/README.md` for source and licence.
const LISTINGS: &str = include_str!("../../data/barcelona.csv");
/// Number of reservations in the demo. Their dates are around today.
const RESERVATIONS: usize = 24;
/// Index of the reservation whose guest arrives today.
const ARRIVES_TODAY: usize = 8;
/// The district for which the demo creates a separate portal.
const DISTRICT: &str = "Eixample";
/// The room type whose tag has a portal of its own.
const ROOM_TYPE: &str = "Private room";

/// A row of the CSV file [`LISTINGS`], which describes a flat.
#[derive(Debug, Deserialize)]
struct Listing {
    name: String,
    neighbourhood_group: String,
    neighbourhood: String,
    latitude: f64,
    longitude: f64,
    room_type: String,
}

/// Serves the demo until it is stopped.
pub async fn demo(mut flags: ServeFlags) -> Result<(), String> {
    if flags.database.is_set() {
        return Err(
            "demo uses a throwaway database, and accepts neither --database-url nor \
                VESTIBULE_DATABASE_URL; use serve for a database that is kept"
                .into(),
        );
    }
    if !flags.tls.domains()?.is_empty() {
        return Err(
            "demo keeps nothing, so it would order a certificate at each start; leave out \
                --tls-domain and VESTIBULE_TLS_DOMAIN, or use serve"
                .into(),
        );
    }
    let directory = tempfile::tempdir().map_err(|error| {
        format!("cannot create a directory for the throwaway database: {error}")
    })?;
    flags.database.database_url = Some(format!(
        "sqlite:{}",
        directory.path().join("demo.db").display()
    ));
    flags.platform_key = flags.platform_keys()?;
    if flags.platform_key.is_empty() {
        flags
            .platform_key
            .push(access::token("pk_", &Ids::default()));
    }
    let platform_key = flags.platform_key.first().cloned().unwrap_or_default();
    // The data must be created before the server starts, because the rate limits of a running
    // server would refuse so many requests.
    let data = build(&server::offline_service(&flags.database, Clock::system()).await?).await?;
    let server = Server::start(flags, Clock::system()).await?;
    let signals = super::Signals::watch(&server)?;
    super::print_address(&server);
    let platform = LocalCaller {
        service: &server.service,
        token: platform_key.clone(),
    };
    let sign_in = sign_in_link(&platform, &data).await?;
    let examples = examples(&platform, &data).await?;
    let banner = Banner {
        base: &server.service.app_state.public_url,
        platform_key: &platform_key,
        sign_in: &sign_in,
        examples: &examples,
        data: &data,
    };
    super::print_or_warn(&banner.render().map_err(|error| error.to_string())?);
    super::serve_until_signal(server, signals).await
}

/// The data of the demo that the banner shows.
pub struct DemoData {
    pub organization: Uuid,
    /// The id of a member with every permission.
    pub member: Uuid,
    api_key: String,
    /// The token of the guest link of the first reservation.
    pub stay_token: String,
    /// The id of the first reservation.
    reservation: String,
    /// Reservations other than the first. Each has a description of the feature that it
    /// demonstrates, and its id.
    examples: Vec<(&'static str, String)>,
    flats: usize,
    districts: usize,
    steps: usize,
    manuals: usize,
}

/// Creates a link that signs the demo's member in and then opens the console.
async fn sign_in_link(platform: &LocalCaller<'_>, data: &DemoData) -> Result<String, String> {
    let (organization, member) = (data.organization.to_string(), data.member.to_string());
    let path = [
        ("organizationId", organization.as_str()),
        ("memberId", member.as_str()),
    ];
    let link = platform
        .call("createSignInLink", &path, json!({ "returnTo": "/console" }))
        .await?;
    Ok(link["url"].as_str().unwrap_or_default().to_owned())
}

/// Returns the lines of the banner about the example reservations, each with a guest link.
async fn examples(platform: &LocalCaller<'_>, data: &DemoData) -> Result<String, String> {
    let organization = data.organization.to_string();
    let mut lines = String::new();
    for (feature, reservation) in &data.examples {
        let path = [
            ("organizationId", organization.as_str()),
            ("reservationId", reservation.as_str()),
        ];
        let link = platform.call("createGuestLink", &path, json!({})).await?;
        let url = link["url"].as_str().unwrap_or_default();
        // Writing to a String cannot fail.
        let _ = writeln!(lines, "  stay with {feature:<22}{url}");
    }
    Ok(lines)
}

/// The text that the demo prints when it is ready.
#[derive(Template)]
#[template(path = "commands/demo/banner.txt")]
struct Banner<'d> {
    base: &'d str,
    platform_key: &'d str,
    sign_in: &'d str,
    /// The lines about the example reservations.
    examples: &'d str,
    data: &'d DemoData,
}

/// Creates all data of the demo through the API.
pub async fn build(service: &Arc<Service>) -> Result<DemoData, String> {
    let platform = LocalCaller {
        service,
        token: service.settings.platform_keys.concat(),
    };
    let now = service.clock.now();
    let organization = service.app_state.ids.uuid(now);
    let organization_path = [("organizationId", organization.to_string())];
    let organization_path: Vec<(&str, &str)> = organization_path
        .iter()
        .map(|(name, value)| (*name, value.as_str()))
        .collect();
    let settings =
        json!({ "name": "Barcelona Flats", "country": "ES", "languages": ["en", "es", "fr"] });
    platform
        .call("putOrganization", &organization_path, settings)
        .await?;
    let everything = json!({ "name": "Demo", "permissions": Permission::VARIANTS });
    let key = platform
        .call("createApiKey", &organization_path, everything)
        .await?;
    let api_key = key["token"].as_str().unwrap_or_default().to_owned();

    let member = service.app_state.ids.uuid(now);
    let member_id = member.to_string();
    let member_path: Vec<(&str, &str)> = organization_path
        .iter()
        .copied()
        .chain([("memberId", member_id.as_str())])
        .collect();
    let marta = json!({
        "name": "Marta Puig",
        "email": "marta@barcelona-flats.example",
        "permissions": Permission::VARIANTS,
        "propertyIds": null,
        "isActive": true,
        "isTwoFactorEnrolled": true,
    });
    platform.call("putMember", &member_path, marta).await?;

    let portfolio = Portfolio::read(&service.app_state.ids, now)?;
    let (reservations, first) = portfolio.reservations(&service.app_state.ids, now)?;
    let accounts = precheckin::records(&service.app_state.ids, now);
    let records: Vec<Value> = portfolio
        .records
        .iter()
        .chain(&reservations)
        .chain(&accounts)
        .cloned()
        .collect();
    platform
        .call(
            "sync",
            &organization_path,
            json!({ "isInitialSync": true, "records": records }),
        )
        .await?;
    let api = LocalCaller {
        service,
        token: api_key.clone(),
    };
    let portals = portals(&api, &portfolio, &precheckin::branding_domain_id(&accounts)).await?;
    let maker = DemoBuilder {
        api: &api,
        portfolio: &portfolio,
        portals: &portals,
    };
    let steps = precheckin::build(&maker, &accounts).await?;
    let manuals = manuals::build(&maker, now).await?;
    stays::build(
        &platform,
        &api,
        &organization_path,
        &reservations,
        &accounts,
    )
    .await?;
    let examples = stays::EXAMPLES.iter().filter_map(|(feature, index)| {
        let id = reservations.get(*index)?["id"].as_str()?;
        Some((*feature, id.to_owned()))
    });
    let reservation_path: Vec<(&str, &str)> = organization_path
        .iter()
        .copied()
        .chain([("reservationId", first.as_str())])
        .collect();
    let link = platform
        .call("createGuestLink", &reservation_path, json!({}))
        .await?;
    Ok(DemoData {
        organization,
        member,
        api_key,
        stay_token: link["token"].as_str().unwrap_or_default().to_owned(),
        reservation: first,
        examples: examples.collect(),
        flats: portfolio.flats.len(),
        districts: portfolio.districts.len(),
        steps,
        manuals,
    })
}

/// The demo's listings as sync records: flats as properties, districts as property groups,
/// neighbourhoods and room types as tags. Also has the ids of these records.
struct Portfolio {
    records: Vec<Value>,
    flats: Vec<Uuid>,
    districts: BTreeMap<String, Uuid>,
    tags: BTreeMap<String, Uuid>,
    /// The custom field that contains each flat's door code.
    door_code: Uuid,
}

impl Portfolio {
    fn read(ids: &Ids, now: Timestamp) -> Result<Self, String> {
        let mut reader = csv::Reader::from_reader(LISTINGS.as_bytes());
        let listings = reader
            .deserialize()
            .collect::<Result<Vec<Listing>, _>>()
            .map_err(|error| error.to_string())?;
        let mut districts = BTreeMap::new();
        let mut tags = BTreeMap::new();
        for listing in &listings {
            districts
                .entry(listing.neighbourhood_group.clone())
                .or_insert_with(|| ids.uuid(now));
            for tag in [&listing.neighbourhood, &listing.room_type] {
                tags.entry(tag.clone()).or_insert_with(|| ids.uuid(now));
            }
        }
        let to_records = |kind: &str, ids_by_name: &BTreeMap<String, Uuid>| -> Vec<Value> {
            ids_by_name
                .iter()
                .map(|(name, id)| json!({ "kind": kind, "id": id, "data": { "name": name } }))
                .collect()
        };
        let door_code = ids.uuid(now);
        let mut records = [
            to_records("property_group", &districts),
            to_records("tag", &tags),
        ]
        .concat();
        records.push(
            json!({ "kind": "custom_field", "id": door_code, "data": { "name": "Door code" } }),
        );
        let mut flats = Vec::new();
        for (number, listing) in listings.iter().enumerate() {
            let id = ids.uuid(now);
            flats.push(id);
            records.push(json!({
                "kind": "property",
                "id": id,
                "data": {
                    "name": listing.name,
                    "timezone": "Europe/Madrid",
                    "country": "ES",
                    "propertyGroupId": districts[&listing.neighbourhood_group],
                    "tagIds": [tags[&listing.neighbourhood], tags[&listing.room_type]],
                    "address": format!("{}, Barcelona", listing.neighbourhood),
                    "latitude": listing.latitude,
                    "longitude": listing.longitude,
                    "checkInTime": "15:00",
                    "checkOutTime": "11:00",
                    "wifiName": format!("BarcelonaFlats-{}", number + 1),
                    "wifiPassword": format!("una-mes-i-marxem-{}", 31 + number * 17 % 69),
                    "customFields": {
                        door_code.to_string(): format!("{} #", 1000 + (number + 7) * 7919 % 9000),
                    },
                },
            }));
        }
        Ok(Self {
            records,
            flats,
            districts,
            tags,
            door_code,
        })
    }

    /// Returns reservations from last week until next month, each in a different flat. Also returns
    /// the id of the first reservation, whose guest arrives tomorrow.
    fn reservations(&self, ids: &Ids, now: Timestamp) -> Result<(Vec<Value>, String), String> {
        let today: Date = now
            .in_tz("Europe/Madrid")
            .map_err(|error| error.to_string())?
            .date();
        let guests = [
            ("Ada", "en", "verified"),
            ("Lucía", "es", "pending"),
            ("Chloé", "fr", "unverified"),
            ("Jonas", "de", "failed"),
        ];
        let mut reservations = Vec::new();
        let mut first = String::new();
        for (number, flat) in self.flats.iter().take(RESERVATIONS).enumerate() {
            let (name, language, verification) = guests[number % guests.len()];
            let day = |days: i64| {
                today
                    .checked_add(days.days())
                    .map_err(|error| error.to_string())
            };
            let days_to_arrival = match number {
                0 => 1,
                ARRIVES_TODAY => 0,
                _ => i64::try_from(number).unwrap_or(0) * 2 - 7,
            };
            // Some pre-check-in steps apply only to stays of a month, or to late bookings.
            let nights = if number % 8 == 5 { 33 } else { 4 };
            let days_to_booking = if number % 4 == 3 {
                days_to_arrival.min(0) - 1
            } else {
                -30
            };
            let id = ids.uuid(now);
            if number == 0 {
                first = id.to_string();
            }
            reservations.push(json!({
                "kind": "reservation",
                "id": id,
                "data": {
                    "propertyId": flat,
                    "status": "confirmed",
                    "channel": if number % 3 == 0 { "direct" } else { "booking.com" },
                    "bookedAt": format!("{}T10:00:00.000Z", day(days_to_booking)?),
                    "checkIn": day(days_to_arrival)?,
                    "checkOut": day(days_to_arrival + nights)?,
                    "guest": { "firstName": name, "language": language },
                    "adults": 2,
                    "isReturningGuest": number % 5 == 0,
                    "verificationStatus": verification,
                },
            }));
        }
        Ok((reservations, first))
    }
}

/// Creates three portals, each with a branding, and assigns them: to a district, to the tag of a
/// room type, and to two flats. The branding of the last portal has a domain of its own. Returns
/// the ids of the portals.
async fn portals(
    api: &LocalCaller<'_>,
    portfolio: &Portfolio,
    domain: &Value,
) -> Result<[Value; 3], String> {
    let brandings_data = [
        (
            "Barcelona Flats",
            "#0E7490",
            "#155E75",
            "Welcome to Barcelona! Our team answers from 9:00 to 21:00.",
        ),
        (
            "Rambla Rooms",
            "#9D174D",
            "#831843",
            "Breakfast is served from 8:00 to 10:30.",
        ),
        (
            "Casa Signature",
            "#1F2937",
            "#92400E",
            "Your host will meet you at the door.",
        ),
    ];
    let mut brandings = Vec::new();
    for (index, (name, primary, secondary, callout)) in brandings_data.into_iter().enumerate() {
        let mut body = json!({
            "name": name,
            "primaryColor": primary,
            "secondaryColor": secondary,
            "calloutMessage": callout,
            "isDefault": index == 0,
        });
        if index == 2 {
            body["customUrlId"] = domain.clone();
        }
        brandings.push(api.call("createPortalBranding", &[], body).await?["id"].clone());
    }
    let portal = |name: &str, branding: &Value, extra: Value| {
        let mut body = json!({
            "name": name,
            "brandingId": branding,
            "supportEmail": "hello@barcelona-flats.example",
            "supportPhone": "93 412 34 56",
            "supportWhatsapp": "612 34 56 78",
            "communicationMethod": "whatsapp",
            "excludedQuickAccessTypes": [],
        });
        for (field, value) in extra.as_object().into_iter().flatten() {
            body[field] = value.clone();
        }
        body
    };
    let offer = json!({
        "isSpecialOfferActive": true,
        "specialOfferType": "Offer",
        "specialOfferTitle": "Late check-out until 14:00 for 25 €",
        "specialOfferCtaText": "Ask for it",
        "specialOfferUrl": "https://barcelona-flats.example/late-check-out",
        "precheckinPromptMessage": "Tell us when you arrive, and your keys will be waiting.",
        "isDefault": true,
        "isUnlockHintShown": true,
    });
    let district = api
        .call(
            "createPortal",
            &[],
            portal("Eixample", &brandings[0], offer),
        )
        .await?;
    let rooms = json!({
        "communicationMethod": "phone",
        "excludedQuickAccessTypes": ["uber", "find_parking_justpark"],
    });
    let rooms = api
        .call(
            "createPortal",
            &[],
            portal("Private rooms", &brandings[1], rooms),
        )
        .await?;
    let signature = api
        .call(
            "createPortal",
            &[],
            portal("Signature flat", &brandings[2], json!({})),
        )
        .await?;
    let scope = |portal: &Value, field: &str, id: Option<&Uuid>| {
        json!({
            "entityType": "portal_settings",
            "entityId": portal["id"],
            field: id.into_iter().collect::<Vec<_>>(),
        })
    };
    api.call(
        "addEntityScopes",
        &[],
        scope(
            &district,
            "propertyGroupIds",
            portfolio.districts.get(DISTRICT),
        ),
    )
    .await?;
    api.call(
        "addEntityScopes",
        &[],
        scope(&rooms, "tagIds", portfolio.tags.get(ROOM_TYPE)),
    )
    .await?;
    for index in [1, stays::WITH_DOMAIN] {
        api.call(
            "addEntityScopes",
            &[],
            scope(&signature, "propertyIds", portfolio.flats.get(index)),
        )
        .await?;
    }
    Ok([district, rooms, signature].map(|mut portal| portal["id"].take()))
}

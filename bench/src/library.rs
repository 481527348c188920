//! Creates the manuals of a city and their categories. A few dozen of the manuals are assigned to
//! the property of the guest whose view of the stay is measured.

use std::sync::Arc;

use anyhow::ensure;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::city::{
    self, City, GROUP, GROUPS, Kind, PROPERTY, Page, RandomChoices, SMALL_CITY_PROPERTIES, TAG,
    TAGS, length,
};
use crate::client::Client;

/// Number of manuals in each measured organization, whatever its number of properties.
pub const MANUALS: u64 = 2_000;

const HEADINGS: u64 = 12;
/// The minimum number of manuals of the guest's property. With fewer manuals, their list would not
/// be worth measuring.
const MIN_MANUALS: usize = 24;
const MANUAL: Kind = Kind("manual", 10);

/// The path of an organization's manuals.
pub const PORTAL_MANUALS: &str = "/api/v1/portal-manuals";
const CATEGORIES: &str = "/api/v1/portal-manual-categories";
/// A search for two words. All property names contain the first word, and few of them contain the
/// second.
const QUERY: &str = "/api/v1/search?query=balcony%2077";

/// The text of a manual, with a typical length.
pub const BODY: &str = "Network **Casa**, password on the router.\n\n- Pull the plug of the *white \
    box* by the door\n- Wait ten seconds\n- Put it back\n\nStill nothing? [Call \
    us](tel:+34934123456), from 9:00 to 21:00. We are round the corner and come by within the \
    hour, with another router if need be.";

/// The measured requests that read or find manuals.
pub struct Library {
    /// The request for the manuals of the guest's property.
    pub list: Page,
    /// The request for the guest's view of the measured stay. The view's number of manuals and its
    /// length were counted after all manuals were created.
    pub stay: Page,
    /// The request for a search by name.
    pub search: Page,
}

impl Library {
    /// Creates the manuals of a city.
    pub async fn of(city: &City) -> anyhow::Result<Self> {
        let City {
            properties,
            client,
            stay,
            ..
        } = city;
        eprintln!("{properties} properties, {MANUALS} manuals: set-up");
        let mut headings = Vec::new();
        for number in 0..HEADINGS {
            headings.push(
                city::create_object(
                    client,
                    CATEGORIES,
                    &json!({ "title": format!("Heading {number}") }),
                )
                .await?,
            );
        }
        let headings: Arc<[Uuid]> = headings.into();
        city::run_all((0..MANUALS).map(|number| manual(client.clone(), headings.clone(), number)))
            .await?;

        let list = format!("/api/v1/properties/{}/portal-manuals", PROPERTY.id(0));
        let list = Page::measure(client, &list, length).await?;
        ensure!(
            list.count >= MIN_MANUALS,
            "the flat has {} manuals, fewer than {MIN_MANUALS}",
            list.count
        );
        let stay = stay.again(client, manual_count).await?;
        ensure!(
            stay.count >= MIN_MANUALS,
            "the guest reads {} manuals, fewer than {MIN_MANUALS}",
            stay.count
        );
        let found = Page::measure(client, QUERY, length).await?;
        ensure!(found.count > 0, "the search has no results");
        Ok(Self {
            list,
            stay,
            search: found,
        })
    }
}

/// Returns the number of manuals in a guest's view.
fn manual_count(view: &Value) -> usize {
    view["manualCategories"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|heading| length(&heading["manuals"]))
        .sum()
}

/// Returns a rule that decides when a manual is visible. The measured stay matches the first three
/// rules and not the other two.
fn rule(number: u64) -> Value {
    match number {
        0 => {
            json!({
                "ruleCategory": "relative_date",
                "startDateRelativeType": "before_check_in",
                "daysBefore": 3_650,
            })
        }
        1 => {
            json!({
                "ruleCategory": "seasonal",
                "seasonalWindows": [{ "startDate": "2026-12-01", "endDate": "2027-01-06" }],
            })
        }
        2 => {
            json!({
                "ruleCategory": "length_of_stay",
                "lengthOfStayFromDays": 2,
                "lengthOfStayToDays": 28,
            })
        }
        3 => {
            json!({
                "ruleCategory": "booking_source",
                "sourceRuleType": "only_selected",
                "includedBookingSources": ["airbnb"],
            })
        }
        _ => json!({ "ruleCategory": "verification_status", "verificationStatuses": ["verified"] }),
    }
}

/// Creates the manual with this number and assigns it to random tags, property groups or
/// properties, or to none. The content of a manual depends only on its number.
async fn manual(client: Client, headings: Arc<[Uuid]>, number: u64) -> anyhow::Result<()> {
    let mut chance = RandomChoices::of(MANUAL, number);
    let heading = headings.get(usize::try_from(chance.below(HEADINGS))?);
    let mut manual = json!({
        "nickname": format!("Manual {number}, how it works"),
        "title": format!("How it works, part {number}"),
        "description": BODY,
        "manualCategoryId": heading,
        "iconName": "wifi",
        "isActive": chance.below(5) != 0,
    });
    if chance.below(3) == 0 {
        manual["visibilityRules"] = json!([rule(chance.below(5))]);
    }
    let id = city::create_object(&client, PORTAL_MANUALS, &manual).await?;
    let (field, targets) = match chance.below(100) {
        0..=24 => ("tagIds", chance.some_of(3, TAGS, |tag| TAG.id(tag))),
        25..=26 => (
            "propertyGroupIds",
            chance.some_of(2, GROUPS, |group| GROUP.id(group)),
        ),
        27..=84 => (
            "propertyIds",
            chance.some_of(50, SMALL_CITY_PROPERTIES, |property| PROPERTY.id(property)),
        ),
        _ => return Ok(()),
    };
    city::assign(&client, MANUAL, id, field, &targets).await
}

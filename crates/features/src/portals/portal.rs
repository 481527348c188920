//! A portal: its fields, and the rules that involve only these fields (rules: portals).

use engine::error::{Issue, Reason};
use engine::field::{
    Copy200, Copy6000, Creatable, EmailAddress, HttpUrl, Name60, PhoneNumber, Text2000,
};
use engine::moment::Moment;
use engine::operation::Findings;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use strum::VariantArray;
use uuid::Uuid;

/// The way of contact that the contact bubble on the guest's page opens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CommunicationMethod {
    Whatsapp,
    Text,
    Phone,
}

impl CommunicationMethod {
    /// Returns the name of the field with the phone number that the way of contact needs.
    const fn number_field(self) -> &'static str {
        match self {
            Self::Whatsapp => "supportWhatsapp",
            Self::Text => "supportTextPhone",
            Self::Phone => "supportPhone",
        }
    }
}

/// A quick-access tile of the guest's page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, VariantArray)]
#[serde(rename_all = "snake_case")]
pub enum Tile {
    Uber,
    ReportAnIssue,
    FindParking,
    FindParkingJustpark,
    RentBabyGear,
}

engine::resource! {
    /// A guest portal in the database and in responses.
    #[schemars(example = example())]
    pub struct Portal {
        /// Id that the server assigns.
        id: Uuid = Uuid::nil();

        /// Name of the portal, 1 to 60 characters, unique in the organization ignoring case. Null
        /// on old portals.
        name: Option<String> = None,
        /// Name of the portal, 1 to 60 characters and not blank. It is unique in the organization,
        /// ignoring case and surrounding spaces; a name of another portal is a 409.
        sent as Name60, in basics;

        /// Whether the portal serves the properties to which no other portal is assigned. At most
        /// one portal of an organization is the default.
        is_default: bool = false,
        /// Whether the portal serves properties to which no portal is assigned, directly, by their
        /// group or by a tag. `true` takes the flag from the current default portal. `false` on the
        /// default portal is a 409. Default `false`.
        sent as bool, by hand, in basics;

        /// Mail address that guests can write to.
        support_email: Option<String> = None,
        /// Mail address that guests can write to. Null clears it.
        sent as Option<EmailAddress>, in contact after support_text_phone;

        /// Number that guests can call, in international form.
        support_phone: Option<String> = None,
        /// Number that guests can call, in any common format. A number without a prefix is read as
        /// a number of the organization's country. It is stored in international form; null clears
        /// it, which is refused while `communicationMethod` is `phone`.
        sent as Option<PhoneNumber>, in contact after support_whatsapp;

        /// Number that guests can reach by WhatsApp, in international form.
        support_whatsapp: Option<String> = None,
        /// Number that guests can reach by WhatsApp, in any common format. A number without a
        /// prefix is read as a number of the organization's country. Null clears it, which is
        /// refused while `communicationMethod` is `whatsapp`.
        sent as Option<PhoneNumber>, in contact;

        /// Number that guests can send text messages to, in international form.
        support_text_phone: Option<String> = None,
        /// Number that guests can send text messages to, in any common format. A number without a
        /// prefix is read as a number of the organization's country. Null clears it, which is
        /// refused while `communicationMethod` is `text`.
        sent as Option<PhoneNumber>, in contact;

        /// Notes for guests about getting help, up to 2000 characters.
        support_notes: Option<String> = None,
        /// Notes for guests about getting help, such as hours of service: up to 2000 characters.
        /// Null clears it.
        sent as Option<Text2000>, in contact;

        /// Way of contact that the contact bubble on the guest's page opens; null means no bubble.
        communication_method: Option<CommunicationMethod> = None,
        /// Way of contact that the contact bubble on the guest's page opens. `whatsapp` needs
        /// `supportWhatsapp`, `text` needs `supportTextPhone`, `phone` needs `supportPhone`. Null
        /// or left out on create: no bubble.
        sent as Option<CommunicationMethod>, in contact before support_whatsapp;

        /// Whether guests are asked to pre-check-in.
        is_precheckin_enabled: bool = true,
        /// Whether guests are asked to check in before they arrive. `false` shows them no steps.
        /// Default `true`.
        sent as bool, in precheckin;

        /// Whether guests see steps in the fixed order of their types, rather than by `sortOrder`
        /// alone.
        is_precheck_order_automatic: bool = true,
        /// Whether guests see steps in the fixed order of their types, with `sortOrder` only within
        /// a group. `false` orders all steps by `sortOrder` alone. Default `true`.
        sent as bool, in precheckin;

        /// Whether submitted pre-check-ins wait for staff to review them; `false` approves them at
        /// once.
        is_manual_review_enabled: bool = true,
        /// Whether submitted pre-check-ins are held for staff to review. `false` approves them at
        /// once. Default `true`. The setting does not concern house manuals.
        sent as bool, in precheckin;

        /// Whether guests may report issues as tickets.
        is_ticketing_enabled: bool = true,
        /// Whether guests can report issues, which become tasks. `false` hides the tile
        /// `report_an_issue` and refuses reports. Default `true`.
        sent as bool, in contact after is_chat_enabled;

        /// Whether guests are asked for a review at check-out.
        is_review_request_checkout_enabled: bool = true,
        /// Whether guests are asked for a review from the day of check-out to 14 days after it.
        /// Default `true`.
        sent as bool, in stay after is_review_request_checkin_enabled;

        /// Whether guests may write to the host; `false` removes the chat launcher and refuses
        /// messages.
        is_chat_enabled: bool = true,
        /// Whether guests may write to the host. `false` removes the chat launcher and refuses
        /// their messages. Default `true`.
        sent as bool, in contact;

        /// Whether guests are asked for a review at check-in.
        is_review_request_checkin_enabled: bool = true,
        /// Whether guests are asked for a review during the stay; default `true`.
        sent as bool, in stay;

        /// Whether the guest's page shows confetti after the guest submits a pre-check-in.
        is_confetti_enabled: bool = true,
        /// Whether a finished pre-check-in is celebrated with confetti. Default `true`.
        sent as bool, in precheckin;

        /// Whether the service reports to the platform that a guest selected extras and then
        /// abandoned the selection.
        is_cart_abandonment_enabled: bool = true,
        /// Whether the changes of guests that the platform reads include an abandoned selection of
        /// extras. Default `true`.
        sent as bool, in stay;

        /// Whether guests are offered a wallet pass.
        is_wallet_pass_enabled: bool = true,
        /// Whether guests are offered a wallet pass for their stay. `false` also removes door codes
        /// from issued passes and ends updates of these passes. Default `true`.
        sent as bool, in stay before is_review_request_checkin_enabled;

        /// Whether guests see a hint of manuals that they can read later.
        is_unlock_hint_shown: bool = false,
        /// Whether guests see which manuals they can read later, and from when. They see only
        /// manuals that the `relative_date` rule alone hides. Default `false`.
        sent as bool, in stay before is_wallet_pass_enabled;

        /// Whether the special offer is shown.
        is_special_offer_active: bool = false,
        /// Whether guests see the special offer; default `false`. An offer without texts shows an
        /// empty card, so send `specialOfferTitle` and `specialOfferCtaText` along.
        sent as bool, in offer;

        /// Address that the special offer leads to.
        special_offer_url: Option<String> = None,
        /// Where the special offer leads, an absolute http or https URL. Null clears it.
        sent as Option<HttpUrl>, in offer after special_offer_cta_text;

        /// Id of the translation of the offer's title.
        special_offer_title_id: Option<Uuid> = None;

        /// Id of the translation of the offer's kind.
        special_offer_type_id: Option<Uuid> = None;

        /// Id of the translation of the offer's call to action.
        special_offer_cta_text_id: Option<Uuid> = None;

        /// Id of the translation of the pre-check-in prompt; null means the built-in prompt.
        precheckin_prompt_message_id: Option<Uuid> = None;

        /// Tiles to hide; null hides every tile except `report_an_issue`.
        excluded_quick_access_types: Option<Vec<Tile>> = None,
        /// Quick-access tiles that guests do not see; replaces the whole list. `[]` shows all five.
        /// Null, or left out on create, hides every tile except `report_an_issue`.
        #[schemars(length(max = 100))]
        sent as Option<Vec<Tile>>, in stay before is_unlock_hint_shown;

        /// Id of the branding that the portal shows; null means the organization's default
        /// branding.
        branding_id: Option<Uuid> = None,
        /// Id of the branding that the portal shows (`listPortalBrandings`). An unknown branding is
        /// a 404. Null or left out on create: the organization's default branding.
        #[schemars(extend(
            "x-choices-from" = "listPortalBrandings",
            "x-summary" = "The branding that the portal shows.",
        ))]
        sent as Option<Uuid>, in basics;

        /// Time of creation.
        created_at: Moment = Moment::default();

        /// Time of last change.
        updated_at: Moment = Moment::default();
    }

    /// The writable fields of a portal.
    #[schemars(rename = "Portal")]
    pub struct PortalFields {
        /// Title of the special offer in English, up to 200 characters after trimming. A change is
        /// translated again into every other language. Null clears it, `""` changes nothing; a
        /// change needs `manage_organization`.
        #[schemars(extend("x-permission" = "manage_organization"))]
        special_offer_title: Option<Copy200>, in offer;

        /// Kind of the special offer in English, up to 200 characters after trimming. A change is
        /// translated again into every other language. Null clears it, `""` changes nothing; a
        /// change needs `manage_organization`.
        #[schemars(extend("x-permission" = "manage_organization"))]
        special_offer_type: Option<Copy200>, in offer;

        /// Call to action of the special offer in English, up to 200 characters after trimming. A
        /// change is translated again into every other language. Null clears it, `""` changes
        /// nothing; a change needs `manage_organization`.
        #[schemars(extend("x-permission" = "manage_organization"))]
        special_offer_cta_text: Option<Copy200>, in offer;

        /// Prompt for guests to pre-check-in, in English, up to 6000 characters after trimming. A
        /// change is translated again into every other language. Null restores the built-in prompt,
        /// `""` changes nothing; a change needs `manage_organization`.
        #[schemars(extend("x-permission" = "manage_organization"))]
        precheckin_prompt_message: Option<Copy6000>, in precheckin after is_precheckin_enabled;
    }
}

impl Portal {
    /// Returns a portal with this id, whose times of creation and of the last change are `now`. All
    /// other fields have their default values, so the portal has no name.
    #[must_use]
    pub fn new(id: Uuid, now: Moment) -> Self {
        Self {
            id,
            created_at: now,
            updated_at: now,
            ..Self::default()
        }
    }

    /// Returns the phone number that a way of contact uses, if the portal has one.
    #[must_use]
    pub fn number_for(&self, method: CommunicationMethod) -> Option<&str> {
        match method {
            CommunicationMethod::Whatsapp => self.support_whatsapp.as_deref(),
            CommunicationMethod::Text => self.support_text_phone.as_deref(),
            CommunicationMethod::Phone => self.support_phone.as_deref(),
        }
    }
}

impl Creatable for PortalFields {
    const REQUIRED: &'static [&'static str] = &["name"];

    fn example() -> Value {
        json!({
            "name": "Casa Azul",
            "supportPhone": "93 412 34 56",
            "communicationMethod": "phone",
            "isSpecialOfferActive": true,
            "specialOfferTitle": "Late check-out",
            "specialOfferCtaText": "Ask for it",
        })
    }
}

impl PortalFields {
    /// Checks the rules about the fields of a new portal. `wrong` names the fields that already
    /// have an issue. If the way of contact lacks its phone number, and the field of that number is
    /// in `wrong`, reports no second issue.
    #[must_use]
    pub fn rules(self, wrong: &[&str]) -> Findings {
        let mut portal = Portal::default();
        self.apply(&mut portal);
        let is_checked = |method: CommunicationMethod| !wrong.contains(&method.number_field());
        Findings::merged(
            contact_issue(&portal, true, &[])
                .filter(|_| portal.communication_method.is_some_and(is_checked)),
        )
    }
}

/// Returns the issue of a portal whose way of contact lacks its phone number (rules:
/// portals#contact).
///
/// `base` is the path of the fields in the body. If the request contains `communicationMethod`, the
/// issue is reported at this field, otherwise at the number that the request clears.
#[must_use]
pub fn contact_issue(portal: &Portal, is_method_sent: bool, base: &[&str]) -> Option<Issue> {
    let method = portal.communication_method?;
    if portal.number_for(method).is_some() {
        return None;
    }
    let number = method.number_field();
    let field = if is_method_sent {
        "communicationMethod"
    } else {
        number
    };
    Some(Issue::new(
        &[base, &[field]].concat(),
        Reason::rule(
            "needs_number",
            format!("is not valid: the communication method needs {number}"),
        ),
    ))
}

/// Returns the way of contact that the contact bubble opens, and its phone number; `None` if the
/// portal has no bubble.
#[must_use]
pub fn contact(portal: &Portal) -> Option<(CommunicationMethod, &str)> {
    let method = portal.communication_method?;
    portal.number_for(method).map(|number| (method, number))
}

/// Returns the tiles that a guest sees: all except the excluded ones. If the portal has no list of
/// excluded tiles, the guest sees only the tile for reporting an issue.
#[must_use]
pub fn tiles(excluded: Option<&[Tile]>) -> Vec<Tile> {
    match excluded {
        None => vec![Tile::ReportAnIssue],
        Some(excluded) => Tile::VARIANTS
            .iter()
            .copied()
            .filter(|tile| !excluded.contains(tile))
            .collect(),
    }
}

/// Returns the published example, with a special offer and a phone number.
fn example() -> Value {
    let [id, title, cta] = [0xab, 0xac, 0xad]
        .map(|last| Uuid::from_u128(0x0192_f0c1_2345_7abc_8def_0123_4567_8900 + last));
    json!(Portal {
        name: Some("Casa Azul".into()),
        support_phone: Some("+34934123456".into()),
        communication_method: Some(CommunicationMethod::Phone),
        is_special_offer_active: true,
        special_offer_title_id: Some(title),
        special_offer_cta_text_id: Some(cta),
        ..Portal::new(id, Moment(Timestamp::constant(1_795_253_400, 0)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn portal() -> Portal {
        Portal::new(Uuid::nil(), Moment("2026-11-21T09:30:00Z".parse().unwrap()))
    }

    #[test]
    fn without_a_list_only_the_issue_tile_is_shown() {
        assert_eq!(tiles(None), [Tile::ReportAnIssue]);
        assert_eq!(tiles(Some(&[])), Tile::VARIANTS);
        assert_eq!(
            tiles(Some(&[Tile::Uber, Tile::ReportAnIssue])),
            [
                Tile::FindParking,
                Tile::FindParkingJustpark,
                Tile::RentBabyGear
            ]
        );
    }

    #[test]
    fn a_contact_method_without_number_is_reported_at_the_sent_field() {
        let mut portal = portal();
        assert_eq!(contact_issue(&portal, true, &[]), None);
        portal.communication_method = Some(CommunicationMethod::Text);
        portal.support_phone = Some("+34934123456".into());
        assert_eq!(contact(&portal), None);
        assert_eq!(
            contact_issue(&portal, true, &[]).unwrap().path,
            ["communicationMethod".into()]
        );
        assert_eq!(
            contact_issue(&portal, false, &["data"]).unwrap().path,
            ["data".into(), "supportTextPhone".into()]
        );
        portal.support_text_phone = Some("+34934123457".into());
        assert_eq!(contact_issue(&portal, true, &[]), None);
        assert_eq!(
            contact(&portal),
            Some((CommunicationMethod::Text, "+34934123457"))
        );
    }

    #[test]
    fn the_example_is_a_valid_portal() {
        let portal: Portal = serde_json::from_value(example()).unwrap();
        assert_eq!(serde_json::to_value(portal).unwrap(), example());
    }
}

//! A portal: its fields and the rules on them alone.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::error::Issue;
use crate::field::{Copy200, Copy6000, Creatable, EmailAddress, Field, HttpUrl, Name60, PhoneNumber, Text2000};
use crate::format;
use crate::moment::Moment;

/// What the contact bubble opens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "each says what it is")]
pub enum CommunicationMethod {
    Whatsapp,
    Text,
    Phone,
}

impl CommunicationMethod {
    /// The field of the number it opens.
    const fn number_field(self) -> &'static str {
        match self {
            Self::Whatsapp => "supportWhatsapp",
            Self::Text => "supportTextPhone",
            Self::Phone => "supportPhone",
        }
    }

    /// What a phone opens to reach a number in international form.
    #[must_use]
    pub fn link(self, number: &str) -> String {
        match self {
            Self::Whatsapp => format!("https://wa.me/{}", number.trim_start_matches('+')),
            Self::Text => format!("sms:{number}"),
            Self::Phone => format!("tel:{number}"),
        }
    }
}

/// A quick-access tile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "each says what it is")]
pub enum Tile {
    Uber,
    ReportAnIssue,
    FindParking,
    FindParkingJustpark,
    RentBabyGear,
}

impl Tile {
    const ALL: [Self; 5] = [Self::Uber, Self::ReportAnIssue, Self::FindParking, Self::FindParkingJustpark, Self::RentBabyGear];
}

/// A guest portal, as it is stored and answered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(!default, example = example())]
pub struct Portal {
    /// Server-assigned.
    pub id: Uuid,
    /// 1 to 60 characters, unique in the organization ignoring case. Null on old portals.
    pub name: Option<String>,
    /// Whether properties without a portal of their own get this one. At most one in the organization.
    pub is_default: bool,
    /// Contact address of the portal.
    pub support_email: Option<String>,
    /// In international form.
    pub support_phone: Option<String>,
    /// In international form.
    pub support_whatsapp: Option<String>,
    /// In international form.
    pub support_text_phone: Option<String>,
    /// Up to 2000 characters.
    pub support_notes: Option<String>,
    /// What the contact bubble opens; null means no bubble.
    pub communication_method: Option<CommunicationMethod>,
    /// Whether guests are asked to pre-check-in.
    pub is_precheckin_enabled: bool,
    /// Whether steps run in the fixed group order rather than by sortOrder alone.
    pub is_precheck_order_automatic: bool,
    /// False approves pre-check-in submissions at once.
    pub is_manual_review_enabled: bool,
    /// Whether guests may report issues as tickets.
    pub is_ticketing_enabled: bool,
    /// Whether guests are asked for a review at check-out.
    pub is_review_request_checkout_enabled: bool,
    /// False removes the chat launcher, and guest messages are refused.
    pub is_chat_enabled: bool,
    /// Whether guests are asked for a review at check-in.
    pub is_review_request_checkin_enabled: bool,
    /// Whether a finished pre-check-in is celebrated.
    pub is_confetti_enabled: bool,
    /// Whether guests are reminded of an abandoned cart.
    pub is_cart_abandonment_enabled: bool,
    /// False stops offering a wallet pass.
    pub is_wallet_pass_enabled: bool,
    /// Whether the special offer is shown.
    pub is_special_offer_active: bool,
    /// Where the special offer leads.
    pub special_offer_url: Option<String>,
    /// Translation of the offer's title.
    pub special_offer_title_id: Option<Uuid>,
    /// Translation of the offer's kind.
    pub special_offer_type_id: Option<Uuid>,
    /// Translation of the offer's call to action.
    pub special_offer_cta_text_id: Option<Uuid>,
    /// Translation of the pre-check-in prompt; null means the built-in one.
    pub precheckin_prompt_message_id: Option<Uuid>,
    /// Tiles to hide; null hides every tile except `report_an_issue`.
    pub excluded_quick_access_types: Option<Vec<Tile>>,
    /// Null means the organization's default branding.
    pub branding_id: Option<Uuid>,
    /// When it was made.
    pub created_at: Moment,
    /// When it last changed.
    pub updated_at: Moment,
}

/// What a document of another version lacks is as it is in a new portal.
impl Default for Portal {
    fn default() -> Self {
        Self::new(Uuid::nil(), Moment::default())
    }
}

impl Portal {
    /// A portal as it is when nothing but its name is given.
    #[must_use]
    pub fn new(id: Uuid, now: Moment) -> Self {
        Self {
            id,
            name: None,
            is_default: false,
            support_email: None,
            support_phone: None,
            support_whatsapp: None,
            support_text_phone: None,
            support_notes: None,
            communication_method: None,
            is_precheckin_enabled: true,
            is_precheck_order_automatic: true,
            is_manual_review_enabled: true,
            is_ticketing_enabled: true,
            is_review_request_checkout_enabled: true,
            is_chat_enabled: true,
            is_review_request_checkin_enabled: true,
            is_confetti_enabled: true,
            is_cart_abandonment_enabled: true,
            is_wallet_pass_enabled: true,
            is_special_offer_active: false,
            special_offer_url: None,
            special_offer_title_id: None,
            special_offer_type_id: None,
            special_offer_cta_text_id: None,
            precheckin_prompt_message_id: None,
            excluded_quick_access_types: None,
            branding_id: None,
            created_at: now,
            updated_at: now,
        }
    }

    /// The number a method of contact opens.
    #[must_use]
    pub fn number_for(&self, method: CommunicationMethod) -> Option<&str> {
        match method {
            CommunicationMethod::Whatsapp => self.support_whatsapp.as_deref(),
            CommunicationMethod::Text => self.support_text_phone.as_deref(),
            CommunicationMethod::Phone => self.support_phone.as_deref(),
        }
    }
}

/// The writable fields of a portal.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[schemars(rename = "Portal")]
pub struct PortalFields {
    /// Name of the portal, 1 to 60 characters and not blank. It is unique in the organization, ignoring case and surrounding spaces; one
    /// that is taken is a 409.
    pub name: Field<Name60>,
    /// Whether the portal serves properties that get none by themselves, by their group or by a tag. `true` takes the flag from the portal
    /// that has it, `false` on the only default portal is a 409; `false` on create.
    pub is_default: Field<bool>,
    /// Mail address that guests can write to. Null clears it.
    pub support_email: Field<Option<EmailAddress>>,
    /// Number that guests can call, in any common format; without a prefix it is read as of the organization's country. It is stored in
    /// international form; null clears it, which is refused while `communicationMethod` is `phone`.
    pub support_phone: Field<Option<PhoneNumber>>,
    /// Number that guests can reach by WhatsApp, in any common format; without a prefix it is read as of the organization's country. Null
    /// clears it, which is refused while `communicationMethod` is `whatsapp`.
    pub support_whatsapp: Field<Option<PhoneNumber>>,
    /// Number that guests can send text messages to, in any common format; without a prefix it is read as of the organization's country.
    /// Null clears it, which is refused while `communicationMethod` is `text`.
    pub support_text_phone: Field<Option<PhoneNumber>>,
    /// What guests read about getting help, such as when somebody answers: up to 2000 characters. Null clears it.
    pub support_notes: Field<Option<Text2000>>,
    /// What the contact bubble opens: `whatsapp` needs `supportWhatsapp`, `text` needs `supportTextPhone`, `phone` needs `supportPhone`.
    /// Null or left out on create: no bubble.
    pub communication_method: Field<Option<CommunicationMethod>>,
    /// Whether guests are asked to check in before they arrive; `false` shows them no steps. `true` on create.
    pub is_precheckin_enabled: Field<bool>,
    /// Whether steps run in the fixed order of their types, `sortOrder` deciding only within a group; `false` runs them by `sortOrder`
    /// alone. `true` on create.
    pub is_precheck_order_automatic: Field<bool>,
    /// Whether submitted pre-check-ins are held for staff to review; `false` approves them at once. `true` on create; unrelated to house
    /// manuals.
    pub is_manual_review_enabled: Field<bool>,
    /// Whether guests may report issues as tickets. `true` on create.
    pub is_ticketing_enabled: Field<bool>,
    /// Whether guests are asked for a review at check-out. `true` on create.
    pub is_review_request_checkout_enabled: Field<bool>,
    /// Whether guests may write to the host; `false` removes the chat launcher and refuses their messages. `true` on create.
    pub is_chat_enabled: Field<bool>,
    /// Whether guests are asked for a review at check-in. `true` on create.
    pub is_review_request_checkin_enabled: Field<bool>,
    /// Whether a finished pre-check-in is celebrated with confetti. `true` on create.
    pub is_confetti_enabled: Field<bool>,
    /// Whether guests are reminded of a cart that they left. `true` on create.
    pub is_cart_abandonment_enabled: Field<bool>,
    /// Whether guests are offered a wallet pass for their stay. `false` also removes door codes from passes already issued, and those stop
    /// updating; `true` on create.
    pub is_wallet_pass_enabled: Field<bool>,
    /// Whether guests see the special offer. `false` on create; an offer without copy shows an empty card, so send `specialOfferTitle` and
    /// `specialOfferCtaText` along.
    pub is_special_offer_active: Field<bool>,
    /// Where the special offer leads, an absolute http or https URL. Null clears it.
    pub special_offer_url: Field<Option<HttpUrl>>,
    /// Quick-access tiles that guests do not see; replaces the whole list. `[]` shows all five, and null, which is also what leaving it out
    /// on create stores, hides every tile except `report_an_issue`.
    #[schemars(length(max = 100))]
    pub excluded_quick_access_types: Field<Option<Vec<Tile>>>,
    /// Id of the branding that the portal shows; an unknown one is a 404. Null or left out on create: the organization's default branding.
    pub branding_id: Field<Option<Uuid>>,
    /// Title of the special offer in English, up to 200 characters after trimming; a change is translated anew into every other language.
    /// Null takes it away, `""` changes nothing; a change needs `manage_organization`.
    pub special_offer_title: Field<Option<Copy200>>,
    /// What kind of offer it is, in English, up to 200 characters after trimming; a change is translated anew into every other language.
    /// Null takes it away, `""` changes nothing; a change needs `manage_organization`.
    pub special_offer_type: Field<Option<Copy200>>,
    /// Call to action of the special offer in English, up to 200 characters after trimming; a change is translated anew into every other
    /// language. Null takes it away, `""` changes nothing; a change needs `manage_organization`.
    pub special_offer_cta_text: Field<Option<Copy200>>,
    /// What invites guests to pre-check-in, in English, up to 6000 characters after trimming; a change is translated anew into every other
    /// language. Null restores the built-in prompt, `""` changes nothing; a change needs `manage_organization`.
    pub precheckin_prompt_message: Field<Option<Copy6000>>,
}

impl Creatable for PortalFields {
    const REQUIRED: &'static [&'static str] = &["name"];

    fn example() -> Value {
        json!({
            "name": "Casa Azul", "supportPhone": "93 412 34 56", "communicationMethod": "phone",
            "isSpecialOfferActive": true, "specialOfferTitle": "Late check-out", "specialOfferCtaText": "Ask for it",
        })
    }
}

impl PortalFields {
    /// The issue of a create whose method of contact has no number beside it, not even one that is wrong.
    #[must_use]
    pub fn contact_issue(&self, wrong: &[&str]) -> Option<Issue> {
        let method = self.communication_method.sent().copied().flatten()?;
        let number = match method {
            CommunicationMethod::Whatsapp => &self.support_whatsapp,
            CommunicationMethod::Text => &self.support_text_phone,
            CommunicationMethod::Phone => &self.support_phone,
        };
        let is_sent = number.sent().is_some_and(Option::is_some) || wrong.contains(&method.number_field());
        number_issue(method, is_sent, true, &[])
    }

    /// Overwrites everything that was sent but `isDefault` and the copy, which concern more than this portal.
    ///
    /// Phone numbers have been judged; those without a prefix are read as of `country`.
    pub fn apply(self, portal: &mut Portal, country: &str) {
        let stored = |number: Field<Option<PhoneNumber>>, target: &mut Option<String>| {
            if let Some(number) = number.into_sent() {
                *target = number.and_then(|text| format::phone(&text, country));
            }
        };
        if let Some(name) = self.name.into_sent() {
            portal.name = Some(name.0);
        }
        self.support_email.apply_as(&mut portal.support_email);
        stored(self.support_phone, &mut portal.support_phone);
        stored(self.support_whatsapp, &mut portal.support_whatsapp);
        stored(self.support_text_phone, &mut portal.support_text_phone);
        self.support_notes.apply_as(&mut portal.support_notes);
        self.communication_method.apply(&mut portal.communication_method);
        self.is_precheckin_enabled.apply(&mut portal.is_precheckin_enabled);
        self.is_precheck_order_automatic.apply(&mut portal.is_precheck_order_automatic);
        self.is_manual_review_enabled.apply(&mut portal.is_manual_review_enabled);
        self.is_ticketing_enabled.apply(&mut portal.is_ticketing_enabled);
        self.is_review_request_checkout_enabled.apply(&mut portal.is_review_request_checkout_enabled);
        self.is_chat_enabled.apply(&mut portal.is_chat_enabled);
        self.is_review_request_checkin_enabled.apply(&mut portal.is_review_request_checkin_enabled);
        self.is_confetti_enabled.apply(&mut portal.is_confetti_enabled);
        self.is_cart_abandonment_enabled.apply(&mut portal.is_cart_abandonment_enabled);
        self.is_wallet_pass_enabled.apply(&mut portal.is_wallet_pass_enabled);
        self.is_special_offer_active.apply(&mut portal.is_special_offer_active);
        self.special_offer_url.apply_as(&mut portal.special_offer_url);
        self.excluded_quick_access_types.apply(&mut portal.excluded_quick_access_types);
        self.branding_id.apply(&mut portal.branding_id);
    }
}

/// The issue of a portal whose method of contact has no number; `base` is where the fields stand in the body.
#[must_use]
pub fn contact_issue(portal: &Portal, is_method_sent: bool, base: &[&str]) -> Option<Issue> {
    let method = portal.communication_method?;
    number_issue(method, portal.number_for(method).is_some(), is_method_sent, base)
}

/// The issue of a method of contact without its number (spec: createPortal 2, updatePortal 3). At fault is the method where it
/// was sent, else the number that was cleared.
fn number_issue(method: CommunicationMethod, has_number: bool, is_method_sent: bool, base: &[&str]) -> Option<Issue> {
    if has_number {
        return None;
    }
    let number = method.number_field();
    let field = if is_method_sent { "communicationMethod" } else { number };
    Some(Issue::new(&[base, &[field]].concat(), format!("the communication method needs {number}")))
}

/// What the contact bubble opens for a guest; `None` means no bubble.
#[must_use]
pub fn contact(portal: &Portal) -> Option<(CommunicationMethod, &str)> {
    let method = portal.communication_method?;
    portal.number_for(method).map(|number| (method, number))
}

/// The tiles a guest sees.
#[must_use]
pub fn tiles(excluded: Option<&[Tile]>) -> Vec<Tile> {
    match excluded {
        None => vec![Tile::ReportAnIssue],
        Some(excluded) => Tile::ALL.into_iter().filter(|tile| !excluded.contains(tile)).collect(),
    }
}

fn example() -> Value {
    json!({
        "id": "0192f0c1-2345-7abc-8def-0123456789ab", "name": "Casa Azul", "isDefault": false, "supportEmail": null,
        "supportPhone": "+34934123456", "supportWhatsapp": null, "supportTextPhone": null, "supportNotes": null,
        "communicationMethod": "phone", "isPrecheckinEnabled": true, "isPrecheckOrderAutomatic": true,
        "isManualReviewEnabled": true, "isTicketingEnabled": true, "isReviewRequestCheckoutEnabled": true,
        "isChatEnabled": true, "isReviewRequestCheckinEnabled": true, "isConfettiEnabled": true,
        "isCartAbandonmentEnabled": true, "isWalletPassEnabled": true, "isSpecialOfferActive": true,
        "specialOfferUrl": null, "specialOfferTitleId": "0192f0c1-2345-7abc-8def-0123456789ac", "specialOfferTypeId": null,
        "specialOfferCtaTextId": "0192f0c1-2345-7abc-8def-0123456789ad", "precheckinPromptMessageId": null,
        "excludedQuickAccessTypes": null, "brandingId": null,
        "createdAt": "2026-11-21T09:30:00.000Z", "updatedAt": "2026-11-21T09:30:00.000Z",
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn portal() -> Portal {
        Portal::new(Uuid::nil(), Moment("2026-11-21T09:30:00Z".parse().unwrap()))
    }

    #[test]
    fn no_list_hides_all_but_the_issue_tile() {
        assert_eq!(tiles(None), [Tile::ReportAnIssue]);
        assert_eq!(tiles(Some(&[])), Tile::ALL);
        assert_eq!(tiles(Some(&[Tile::Uber, Tile::ReportAnIssue])), [Tile::FindParking, Tile::FindParkingJustpark, Tile::RentBabyGear]);
    }

    #[test]
    fn a_method_without_its_number_is_at_fault_where_it_was_sent() {
        let mut portal = portal();
        assert_eq!(contact_issue(&portal, true, &[]), None);
        portal.communication_method = Some(CommunicationMethod::Text);
        portal.support_phone = Some("+34934123456".into());
        assert_eq!(contact(&portal), None);
        assert_eq!(contact_issue(&portal, true, &[]).unwrap().path, ["communicationMethod".into()]);
        assert_eq!(contact_issue(&portal, false, &["data"]).unwrap().path, ["data".into(), "supportTextPhone".into()]);
        portal.support_text_phone = Some("+34934123457".into());
        assert_eq!(contact_issue(&portal, true, &[]), None);
        assert_eq!(contact(&portal), Some((CommunicationMethod::Text, "+34934123457")));
    }

    #[test]
    fn the_example_is_a_portal() {
        let portal: Portal = serde_json::from_value(example()).unwrap();
        assert_eq!(serde_json::to_value(portal).unwrap(), example());
    }
}

//! The content of a pass: the flat, the dates, the guest, the door codes that are valid now, and a
//! link to the page. Texts are in the guest's language. Colours are those of the branding.

use engine::typed;
use features::guest::passes::PassView;
use features::words::fill;
use jiff::ToSpan as _;
use jiff::civil::{Date, Time};
use serde_json::{Value, json};

use super::super::page_stay::PageStay;
use super::super::theme;
use super::PassSigner;

/// Returns the content of a stay's pass. `url` is the URL of the stay's page. `service` is the base
/// URL of the web service from which phones fetch updates of the pass. A pass that has expired is
/// marked as void and contains no door code.
#[must_use]
pub fn pass(
    page_stay: &PageStay,
    signer: &PassSigner,
    url: &str,
    service: &str,
    details: &PassView,
) -> Value {
    let (words, stay, flat) = (
        page_stay.texts,
        &page_stay.view.reservation,
        page_stay.flat(),
    );
    let branding = page_stay.view.branding.as_ref();
    let organization = branding.map_or_else(|| page_stay.name(), |branding| &branding.name);
    let [ground, text_colour] = theme::brand_parts(branding)
        .map(|[red, green, blue]| format!("rgb({red}, {green}, {blue})"));
    let time = |time: Option<&String>| time.and_then(|time| time.parse::<Time>().ok());
    let check_in_time = time(flat.and_then(|flat| flat.check_in_time.as_ref()));
    let moment = |date: Date, time: Time| date.to_datetime(time).to_zoned(page_stay.zone()).ok();
    let written = |moment: Option<jiff::Zoned>| {
        moment.map(|moment| moment.strftime("%Y-%m-%dT%H:%M:%S%:z").to_string())
    };
    let at = |date: Date, time: Option<Time>| match time {
        Some(time) => format!("{}, {}", page_stay.day(date), page_stay.dates().time(time)),
        None => page_stay.day(date),
    };
    let field = |key: &str, label: &str, value: String| {
        json!({
            "key": key,
            "label": label,
            "value": value,
        })
    };
    let leaves = time(flat.and_then(|flat| flat.check_out_time.as_ref()));
    let address = page_stay.address().join("\n");
    let mut back = vec![field("page", words.phase.your_stay, url.to_owned())];
    if !address.is_empty() {
        back.insert(0, field("address", words.phase.address, address));
    }
    let codes: Vec<Value> = details
        .door_codes
        .iter()
        .enumerate()
        .map(|(place, code)| {
            let label = if details.door_codes.len() > 1 && !typed::is_blank(&code.name) {
                typed::trim(&code.name)
            } else {
                words.keep.door_code
            };
            field(&format!("door-code-{place}"), label, code.code.clone())
        })
        .collect();
    let guest = page_stay
        .guest_name()
        .into_iter()
        .map(|name| field("guest", words.preview.guest, name.to_owned()));
    let last = stay.check_out.max(stay.check_in).checked_add(1.day()).ok();
    let mut pass = json!({
        "formatVersion": 1,
        "passTypeIdentifier": signer.pass_type,
        "teamIdentifier": signer.team,
        "serialNumber": stay.id,
        "organizationName": organization,
        "logoText": organization,
        "description": fill(words.keep.calendar_title, &[("property", page_stay.name())]),
        "backgroundColor": ground,
        "foregroundColor": text_colour,
        "labelColor": text_colour,
        "relevantDate": written(moment(stay.check_in, check_in_time.unwrap_or(Time::midnight()))),
        "expirationDate": written(last.and_then(|last| moment(last, Time::midnight()))),
        "barcodes": [
            { "format": "PKBarcodeFormatQR", "message": url, "messageEncoding": "iso-8859-1" },
        ],
        "webServiceURL": service,
        "authenticationToken": details.authentication_token,
        "voided": (!details.is_enabled).then_some(true),
        "generic": {
            "primaryFields": [
                field("property", words.phase.your_stay, page_stay.name().to_owned()),
            ],
            "secondaryFields": [
                field("check-in", words.phase.check_in, at(stay.check_in, check_in_time)),
                field("check-out", words.phase.check_out, at(stay.check_out, leaves)),
            ],
            "auxiliaryFields": codes.into_iter().chain(guest).collect::<Vec<_>>(),
            "backFields": back,
        },
    });
    if let Some((latitude, longitude)) = flat.and_then(|flat| flat.latitude.zip(flat.longitude)) {
        pass["locations"] = json!([{ "latitude": latitude, "longitude": longitude }]);
    }
    if let Some(fields) = pass.as_object_mut() {
        fields.retain(|_, value| !value.is_null());
    }
    pass
}

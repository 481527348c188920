//! Small records of the organization's setup: names, prices, payment accounts, domains, images,
//! instructions. The service itself uses few of their fields.

use engine::field::Label;
use uuid::Uuid;

use super::FLAT;
use super::values::{Cents, CurrencyCode, HttpsUrl, LongText, Place, WebUrl};

record! {
    /// A record that needs only a name, such as a group, a tag or a department.
    pub struct NamedRecord {
        /// Name of the record; may be empty.
        name: Label;
    }
}

record! {
    /// A record with a price: fees, damage waivers and extras.
    pub struct PricedRecord {
        /// Name of the record; may be empty.
        name: Label;
        /// Price, in the minor unit of the currency: a whole number of at least 0. Null: the price
        /// is unknown.
        amount_cents: Option<Cents>;
        /// Price, if `amountCents` is null or left out.
        price_cents: Option<Cents>;
        /// Currency of the price, as an ISO 4217 code in any case; stored in capitals. Null: the
        /// currency of the account or the flat.
        currency: Option<CurrencyCode>;
    }
}

record! {
    /// An account that payments go to.
    pub struct PaymentAccount {
        /// Name of the account; may be empty.
        name: Label;
        /// Whether the account can be charged; steps cannot refer to an inactive account.
        is_active: bool;
        /// Whether steps without an account charge this account.
        is_default: bool;
        /// Currency of the account's charges, as an ISO 4217 code. Null: the currency of the
        /// charged item.
        currency: Option<CurrencyCode>;
    }
    example { "name": "Main account", "isActive": true, "isDefault": true, "currency": "EUR" }
}

record! {
    /// A domain of the organization.
    pub struct CustomUrl {
        /// Host name of the domain, such as `stay.example.com`. It belongs to one organization.
        host: Label, read where it fits as Option<String>;
        /// Whether guest portals are served on the domain; brandings can use only such domains.
        is_guest_portal: bool, read where it fits as Option<bool>;
    }
    example { "host": "stay.example.com", "isGuestPortal": true }
}

record! {
    /// A picture that manuals show.
    pub struct ManualImage {
        /// Address of the image, an absolute http or https URL.
        url: WebUrl;
    }
    example { "url": "https://images.example.com/kitchen.jpg" }
}

record! {
    /// An instruction for guests.
    pub struct Instruction {
        /// Id of the property, group or tag whose guests see the instruction.
        #[schemars(extend("x-summary" = "The property, group or tag whose guests it is for."))]
        scope_id: Uuid;
        /// Title for guests; may be empty.
        title: Label;
        /// Zero-based place among the instructions of its scope.
        position: Place;
        /// Text below the title, up to 20,000 characters; null: none.
        text: Option<LongText>;
        /// Https address of an image; null: none.
        image_url: Option<HttpsUrl>;
    }
    example { "scopeId": FLAT, "title": "Ring the bell", "position": 0 }
}

//! Fields of fees, damage waivers, custom fields and other records that members add by hand. The
//! forms of the console and CSV files offer these fields. The schema for sync names only the
//! required ones, because the platform defines the others, and sync does not validate them. The
//! service ignores a stored value that has an unexpected type.

use engine::field::Label;
use engine::moment::Moment;

use super::values::{Cents, CurrencyCode, HttpsUrl, LongText, PropertyId, ReservationId};

record! {
    /// A fee.
    pub struct FeeFields {
        /// Name of the fee, which guests see.
        name: Label;
        /// Amount for a stay, in the minor unit of the currency, such as cents. Null: it is not
        /// known.
        amount_cents: Option<Cents>;
        /// Currency of the amount, as an ISO 4217 code. Null: the currency of the organization.
        currency: Option<CurrencyCode>;
    }
}

record! {
    /// A damage waiver.
    pub struct WaiverFields {
        /// Name of the damage waiver, which guests see.
        name: Label;
        /// Price, in the minor unit of the currency, such as cents. Null: the price is unknown.
        amount_cents: Option<Cents>;
        /// Currency of the price, as an ISO 4217 code. Null: the currency of the organization.
        currency: Option<CurrencyCode>;
    }
}

record! {
    /// A custom field.
    pub struct CustomFieldFields {
        /// Name of the field.
        name: Label;
        /// Value for flats without a value of their own. Null: none.
        value: Option<LongText>;
    }
}

record! {
    /// An extra that guests can ask for.
    pub struct UpsellFields {
        /// Name of the extra, which guests see.
        name: Label;
        /// Description of the extra, which guests see. Null: none.
        description: Option<LongText>;
        /// Price, in the minor unit of the currency, such as cents. Null: the price is unknown.
        price_cents: Option<Cents>;
        /// Currency of the price, as an ISO 4217 code. Null: the currency of the organization.
        currency: Option<CurrencyCode>;
        /// Address of a picture, an absolute https URL. Null: none.
        image_url: Option<HttpsUrl>;
        /// Whether guests are offered the extra. Null: yes.
        is_active: Option<bool>;
    }
}

record! {
    /// A door code.
    pub struct LockCodeFields {
        /// Name of the door code, such as the door that it opens.
        name: Label;
        /// The property of the door code. Null: none.
        property_id: Option<PropertyId>;
        /// The stay that the door code is for. Null: all stays in the property while the code is in
        /// force.
        reservation_id: Option<ReservationId>;
        /// The door code itself. Null: none.
        code: Option<Label>;
        /// Moment from which the code is in force, such as 2026-12-11 15:00. Null: without a start.
        starts_at: Option<Moment>;
        /// Moment until which the code is in force. Null: without an end.
        ends_at: Option<Moment>;
    }
}

record! {
    /// An account at a provider of background checks.
    pub struct CheckAccountFields {
        /// Name of the account.
        name: Label;
        /// Whether steps can use the account. Null: yes.
        is_active: Option<bool>;
    }
}

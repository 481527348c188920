//! What an organization has besides, and of which rules read little.

use engine::field::Label;
use uuid::Uuid;

use super::FLAT;
use super::values::{Place, WebUrl};

record! {
    /// What must have a name, and nothing else: groups, tags, fees, departments and more.
    pub struct Named {
        /// What it is called; may be empty.
        name: Label;
    }
}

record! {
    /// An account that payments go to.
    pub struct PaymentAccount {
        /// What the account is called; may be empty.
        name: Label;
        /// Whether the account can be charged; steps cannot name one that is not active.
        is_active: bool;
        /// Whether steps that name no account charge this one.
        is_default: bool;
    }
    example { "name": "Main account", "isActive": true, "isDefault": true }
}

record! {
    /// A domain of the organization's own.
    pub struct CustomUrl {
        /// Host name of the domain, such as `stay.example.com`.
        host: Label;
        /// Whether guest portals are served there; brandings can use no other.
        is_guest_portal: bool;
    }
    example { "host": "stay.example.com", "isGuestPortal": true }
}

record! {
    /// A picture that manuals show.
    pub struct Image {
        /// Address of the image, an absolute http or https URL.
        url: WebUrl;
    }
    example { "url": "https://images.example.com/kitchen.jpg" }
}

record! {
    /// Something that guests are told to do.
    pub struct Instruction {
        /// Id of the property, group or tag whose guests it is for.
        scope_id: Uuid;
        /// What the guest is to do; may be empty.
        title: Label;
        /// Zero-based place among the instructions of its scope.
        position: Place;
    }
    example { "scopeId": FLAT, "title": "Ring the bell", "position": 0 }
}

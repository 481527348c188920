//! The texts that guests see if the organization has not written its own.

include!(concat!(env!("OUT_DIR"), "/page.rs"));

impl Words {
    /// Returns the label of a field about a guest, by the field's name (rules:
    /// pre-check-in#details-of-guests). Returns `None` if no such field exists.
    #[must_use]
    pub fn guest_field(&self, name: &str) -> Option<&'static str> {
        let fields = &self.fields;
        Some(match name {
            "firstName" => fields.first_name,
            "lastName" => fields.last_name,
            "secondLastName" => fields.second_last_name,
            "email" => fields.email,
            "phone" => fields.phone,
            "birthDate" => fields.birth_date,
            "gender" => fields.gender,
            "nationality" => fields.nationality,
            "documentType" => fields.document_type,
            "documentNumber" => fields.document_number,
            "address" => fields.address,
            "city" => fields.city,
            "postalCode" => fields.postal_code,
            "country" => fields.country,
            _ => return None,
        })
    }

    /// Returns the hint for a field about a guest. Returns `None` if the field has no hint.
    #[must_use]
    pub fn guest_field_hint(&self, name: &str) -> Option<&'static str> {
        let fields = &self.fields;
        Some(match name {
            "firstName" | "lastName" | "secondLastName" => fields.name_hint,
            "email" => fields.email_hint,
            "phone" => fields.phone_hint,
            "birthDate" => fields.date_hint,
            "documentNumber" => fields.document_number_hint,
            "address" => fields.address_hint,
            _ => return None,
        })
    }

    /// Returns the genders that a guest can choose from. Each has its stored value and its label.
    #[must_use]
    pub const fn genders(&self) -> [(&'static str, &'static str); 3] {
        [
            ("female", self.fields.female),
            ("male", self.fields.male),
            ("unspecified", self.fields.unspecified),
        ]
    }

    /// Returns the types of documents that a guest can choose from. Each has its stored value and
    /// its label.
    #[must_use]
    pub const fn document_types(&self) -> [(&'static str, &'static str); 5] {
        [
            ("passport", self.fields.passport),
            ("identity_card", self.fields.identity_card),
            ("driving_licence", self.fields.driving_licence),
            ("residence_permit", self.fields.residence_permit),
            ("other", self.fields.other_document),
        ]
    }
}

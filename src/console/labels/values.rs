//! Values to choose from, in English, Spanish and French.

#[rustfmt::skip]
pub(super) static VALUES: &[(&str, [&str; 3])] = &[
    ("whatsapp", ["WhatsApp", "WhatsApp", "WhatsApp"]),
    ("text", ["Text", "Texto", "Texte"]),
    ("phone", ["Phone call", "Llamada", "Appel"]),
    ("uber", ["Uber", "Uber", "Uber"]),
    ("report_an_issue", ["Report an issue", "Avisar de un problema", "Signaler un problème"]),
    ("find_parking", ["Find parking", "Buscar aparcamiento", "Trouver un parking"]),
    ("find_parking_justpark", ["Find parking with JustPark", "Buscar aparcamiento con JustPark", "Trouver un parking avec JustPark"]),
    ("rent_baby_gear", ["Rent baby gear", "Alquilar artículos de bebé", "Louer du matériel pour bébé"]),
];

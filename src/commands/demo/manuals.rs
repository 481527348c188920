//! The house manuals of `vestibule demo`: headings and texts in three languages, with assignments
//! and visibility rules.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::{Value, json};

use super::builder::AssignmentTarget::{self, District, Flat, Tag};
use super::builder::{DemoBuilder, DemoText};
use super::{DISTRICT, ROOM_TYPE};

/// A manual that the demo creates.
struct DemoManual {
    nickname: &'static str,
    /// The index of the manual's heading in [`HEADINGS`]; `None` if the manual has no heading.
    heading: Option<usize>,
    /// The icon on the cover of the manual.
    icon: &'static str,
    title: DemoText,
    /// The body in Markdown. If it is `None`, the manual shows the flat's door code instead.
    body: Option<DemoText>,
    /// The flats, tags or portals to which the manual is assigned.
    property_scope: &'static [AssignmentTarget],
    /// Returns the visibility rules. The argument is the current year, for rules with dates.
    rules: fn(i16) -> Value,
    is_active: bool,
    /// The note that only staff see.
    note: Option<&'static str>,
    video: Option<&'static str>,
}

/// All flats that guests do not share with others.
const WHOLE_FLATS: &[AssignmentTarget] = &[Tag("Entire home/apt")];
/// The tags that together cover all flats of the demo.
const EVERYWHERE: &[AssignmentTarget] = &[Tag("Entire home/apt"), Tag(ROOM_TYPE)];

const HEADINGS: &[DemoText] = &[
    ["Getting here", "Cómo llegar", "Comment venir"],
    ["Getting in", "Entrar", "Entrer"],
    ["In the flat", "En el piso", "Dans l’appartement"],
    ["Around you", "A tu alrededor", "Autour de vous"],
    ["Leaving", "La salida", "Le départ"],
    [
        "If something goes wrong",
        "Si algo va mal",
        "En cas de problème",
    ],
];
const GETTING_HERE: Option<usize> = Some(0);
const GETTING_IN: Option<usize> = Some(1);
const IN_THE_FLAT: Option<usize> = Some(2);
const AROUND: Option<usize> = Some(3);
const LEAVING: Option<usize> = Some(4);
const TROUBLE: Option<usize> = Some(5);

/// Returns an active manual that has no assignments and no visibility rules.
const fn manual(
    heading: Option<usize>,
    icon: &'static str,
    nickname: &'static str,
    title: DemoText,
) -> DemoManual {
    DemoManual {
        nickname,
        heading,
        icon,
        title,
        body: None,
        property_scope: &[],
        rules: always,
        is_active: true,
        note: None,
        video: None,
    }
}

impl DemoManual {
    const fn with_body(self, body: DemoText) -> Self {
        Self {
            body: Some(body),
            ..self
        }
    }

    const fn assigned_to(self, property_scope: &'static [AssignmentTarget]) -> Self {
        Self {
            property_scope,
            ..self
        }
    }

    const fn with_rules(self, rules: fn(i16) -> Value) -> Self {
        Self { rules, ..self }
    }
}

/// Returns no rules, so that the manual is always visible.
fn always(_: i16) -> Value {
    json!([])
}

/// Returns the visibility rules that show a manual in the months in which the house is heated. The
/// rules contain two winters: the one that ends in `year`, and the one after it.
fn winter(year: i16) -> Value {
    season([
        (year - 1, "10-15", year, "04-30"),
        (year, "10-15", year + 1, "04-30"),
    ])
}

/// Returns the visibility rules that show a manual in the months in which the terrace is open, in
/// the summer of `year` and the next.
fn summer(year: i16) -> Value {
    season([
        (year, "05-01", year, "10-14"),
        (year + 1, "05-01", year + 1, "10-14"),
    ])
}

/// Returns the visibility rules for two periods. Each period has a first year, a first day such as
/// `05-01`, a last year and a last day.
fn season(windows: [(i16, &str, i16, &str); 2]) -> Value {
    let date = |year: i16, day: &str| format!("{year}-{day}");
    let windows = windows.map(|(from, first, to, last)| {
        json!({
            "startDate": date(from, first),
            "endDate": date(to, last),
        })
    });
    json!([{ "ruleCategory": "seasonal", "seasonalWindows": windows }])
}

/// Returns rules that show a manual to verified guests only, from midnight of the day of arrival
/// until check-out. Check-in is at 15:00, so midnight is 15 hours before.
fn near_and_verified(_: i16) -> Value {
    json!([
        {
            "ruleCategory": "relative_date",
            "startDateRelativeType": "before_check_in",
            "daysBefore": 15,
            "daysBeforeTimeUnit": "hour",
            "endDateRelativeType": "check_out_time",
        },
        { "ruleCategory": "verification_status", "verificationStatuses": ["verified"] },
    ])
}

/// Returns the rules that show a manual to all guests until the day after arrival.
fn on_the_way(_: i16) -> Value {
    json!([
        {
            "ruleCategory": "relative_date",
            "endDateRelativeType": "after_check_in",
            "daysAfter": 1,
        },
    ])
}

/// Returns the rules for stays of at least two weeks.
fn long_stay(_: i16) -> Value {
    json!([{ "ruleCategory": "length_of_stay", "lengthOfStayFromDays": 14 }])
}

/// Returns visibility rules that show a manual only to guests who booked directly with the
/// organization.
fn booked_with_us(_: i16) -> Value {
    json!([
        {
            "ruleCategory": "booking_source",
            "sourceRuleType": "only_selected",
            "includedBookingSources": ["direct"],
        },
    ])
}

/// Manuals that most guests see.
const FOR_MOST: &[DemoManual] = &[
    manual(
        GETTING_HERE,
        "plane-landing",
        "Airport",
        [
            "From the airport",
            "Desde el aeropuerto",
            "Depuis l’aéroport",
        ],
    )
    .with_body([
        "- **Aerobús** (A1 from T1, A2 from T2): every 5 to 10 minutes, 35 minutes to Plaça de \
            Catalunya.\n- **Train R2 Nord** from T2: every half hour, 25 minutes to Passeig de \
            Gràcia.\n- **Taxi**, black and yellow: 35 to 40 €, at any hour. No need to book.",
        "- **Aerobús** (A1 desde la T1, A2 desde la T2): cada 5 o 10 minutos, 35 minutos hasta la \
            plaza de Cataluña.\n- **Tren R2 Nord** desde la T2: cada media hora, 25 minutos hasta \
            Passeig de Gràcia.\n- **Taxi**, negro y amarillo: de 35 a 40 €, a cualquier hora y sin \
            reserva.",
        "- **Aerobús** (A1 depuis T1, A2 depuis T2) : toutes les 5 à 10 minutes, 35 minutes \
            jusqu’à la place de Catalogne.\n- **Train R2 Nord** depuis T2 : toutes les \
            demi-heures, 25 minutes jusqu’à Passeig de Gràcia.\n- **Taxi**, noir et jaune : 35 à \
            40 €, à toute heure, sans réservation.",
    ])
    .assigned_to(EVERYWHERE)
    .with_rules(on_the_way),
    DemoManual {
        note: Some("The code changes after every stay. Never send it by mail."),
        ..manual(
            GETTING_IN,
            "key-round",
            "Door code",
            [
                "Your door code",
                "Tu código de la puerta",
                "Votre code de porte",
            ],
        )
        .assigned_to(WHOLE_FLATS)
        .with_rules(near_and_verified)
    },
    manual(IN_THE_FLAT, "wifi", "Wi-Fi", ["Wi-Fi", "Wifi", "Wi-Fi"])
        .with_body([
            "Slow, or gone? Pull the plug of the white box by the door, and put it back after ten \
                seconds.",
            "¿Va lento o no va? Desenchufa la caja blanca junto a la puerta y vuelve a enchufarla \
                a los diez segundos.",
            "Lent ou absent ? Débranchez la boîte blanche près de la porte et rebranchez-la au \
                bout de dix secondes.",
        ])
        .assigned_to(EVERYWHERE),
    DemoManual {
        video: Some("https://barcelona-flats.example/videos/heating"),
        ..manual(
            IN_THE_FLAT,
            "heater",
            "Heating, in winter",
            ["Heating", "Calefacción", "Chauffage"],
        )
        .with_body([
            "The thermostat is in the corridor. **Turn the wheel to 21** and wait half an hour; \
                the radiators have no knobs. At night it goes down to 17 by itself.",
            "El termostato está en el pasillo. **Gira la rueda hasta 21** y espera media hora; los \
                radiadores no tienen mando. Por la noche baja solo a 17.",
            "Le thermostat est dans le couloir. **Tournez la molette sur 21** et attendez une \
                demi-heure ; les radiateurs n’ont pas de robinet. La nuit, il descend tout seul à \
                17.",
        ])
        .assigned_to(WHOLE_FLATS)
        .with_rules(winter)
    },
    manual(
        IN_THE_FLAT,
        "washing-machine",
        "Appliances",
        ["Appliances", "Electrodomésticos", "Appareils"],
    )
    .with_body([
        "**Hob**: hold the key symbol for three seconds, then choose a plate.\n**Oven**: set the \
            clock first, or it stays cold.\n**Washing machine**: programme 4, 40 °C; capsules are \
            under the sink.\n**Boiler**: leave it on.",
        "**Placa**: mantén la llave tres segundos y elige un fuego.\n**Horno**: pon antes el \
            reloj, o no calienta.\n**Lavadora**: programa 4, 40 °C; las cápsulas están bajo el \
            fregadero.\n**Termo**: déjalo encendido.",
        "**Plaque** : appuyez trois secondes sur la clé, puis choisissez un feu.\n**Four** : \
            réglez l’heure, sinon il reste froid.\n**Lave-linge** : programme 4, 40 °C ; les \
            capsules sont sous l’évier.\n**Chauffe-eau** : laissez-le allumé.",
    ])
    .assigned_to(WHOLE_FLATS),
    manual(
        IN_THE_FLAT,
        "recycle",
        "Rubbish",
        [
            "Rubbish and recycling",
            "Basura y reciclaje",
            "Déchets et tri",
        ],
    )
    .with_body([
        "The containers are on the corner, day and night.\n\n| Container | For |\n|---|---|\n| \
            yellow | cans, plastic |\n| blue | paper |\n| green | glass |\n| brown | food |\n| \
            grey | all the rest |",
        "Los contenedores están en la esquina, día y noche.\n\n| Contenedor | Para |\n|---|---|\n| \
            amarillo | latas, plástico |\n| azul | papel |\n| verde | vidrio |\n| marrón | restos \
            de comida |\n| gris | lo demás |",
        "Les conteneurs sont au coin de la rue, jour et nuit.\n\n| Conteneur | Pour \
            |\n|---|---|\n| jaune | boîtes, plastique |\n| bleu | papier |\n| vert | verre |\n| \
            marron | restes de repas |\n| gris | tout le reste |",
    ])
    .assigned_to(EVERYWHERE),
    manual(
        LEAVING,
        "log-out",
        "Check-out",
        ["Checking out", "Al salir", "En partant"],
    )
    .with_body([
        "By **11:00**, and without us:\n\n1. Windows closed, heating and air conditioning off.\n2. \
            Dishwasher on.\n3. Rubbish to the corner.\n4. Keys in the box by the door.\n\nYou need \
            not strip the beds.",
        "Antes de las **11:00**, y sin nosotros:\n\n1. Ventanas cerradas, calefacción y aire \
            apagados.\n2. Lavavajillas en marcha.\n3. Basura a la esquina.\n4. Llaves en la caja \
            junto a la puerta.\n\nNo hace falta quitar las sábanas.",
        "Avant **11 h**, et sans nous :\n\n1. Fenêtres fermées, chauffage et climatisation \
            éteints.\n2. Lave-vaisselle en marche.\n3. Déchets au coin de la rue.\n4. Clés dans la \
            boîte près de la porte.\n\nInutile de défaire les lits.",
    ])
    .assigned_to(EVERYWHERE),
    manual(
        TROUBLE,
        "siren",
        "Emergencies",
        [
            "Emergency numbers",
            "Teléfonos de emergencia",
            "Numéros d’urgence",
        ],
    )
    .with_body([
        "- [112](tel:112): police, fire brigade, ambulance, in English too\n- [061](tel:061): a \
            doctor’s advice, day and night\n- [93 412 34 56](tel:+34934123456): us, from 9:00 to \
            21:00; after that only for water, gas and lost keys",
        "- [112](tel:112): policía, bomberos, ambulancia\n- [061](tel:061): consejo médico, a \
            cualquier hora\n- [93 412 34 56](tel:+34934123456): nosotros, de 9:00 a 21:00; \
            después, solo por agua, gas o llaves perdidas",
        "- [112](tel:112) : police, pompiers, ambulance, en français aussi\n- [061](tel:061) : un \
            avis médical, à toute heure\n- [93 412 34 56](tel:+34934123456) : nous, de 9 h à 21 h \
            ; ensuite, seulement pour l’eau, le gaz ou des clés perdues",
    ])
    .assigned_to(EVERYWHERE),
    manual(
        TROUBLE,
        "flame",
        "Gas",
        ["Smell of gas", "Si huele a gas", "Odeur de gaz"],
    )
    .with_body([
        "Touch no switch. Open the windows, close the **yellow tap** under the hob, leave, and \
            call [112](tel:112).",
        "No toques ningún interruptor. Abre las ventanas, cierra la **llave amarilla** bajo la \
            placa, sal y llama al [112](tel:112).",
        "Ne touchez à aucun interrupteur. Ouvrez les fenêtres, fermez le **robinet jaune**, sortez \
            et appelez le [112](tel:112).",
    ])
    .assigned_to(WHOLE_FLATS),
];

/// Manuals that only some guests get: in some flats, or in stays that meet the manual's rules.
const FOR_SOME: &[DemoManual] = &[
    manual(
        GETTING_HERE,
        "square-parking",
        "Parking, Eixample",
        ["Parking", "Aparcar", "Se garer"],
    )
    .with_body([
        "Most streets here are **blue** (paid, two hours) or **green** (dearer, residents first). \
            For days on end use a garage: about 25 € a day.\n\nA car without a Spanish badge has \
            to be [registered for the low-emission zone](https://www.zbe.barcelona) before it \
            comes in on a weekday.",
        "Casi todas las calles son zona **azul** (de pago, dos horas) o **verde** (más cara, \
            primero los residentes). Para varios días, mejor un garaje: unos 25 € al día.\n\nUn \
            coche sin distintivo español debe [registrarse para la zona de bajas \
            emisiones](https://www.zbe.barcelona) antes de entrar en día laborable.",
        "Les rues sont presque toutes **bleues** (payantes, deux heures) ou **vertes** (plus \
            chères, riverains d’abord). Pour plusieurs jours, prenez un garage : environ 25 € par \
            jour.\n\nUne voiture sans vignette espagnole doit être [inscrite pour la zone à \
            faibles émissions](https://www.zbe.barcelona) avant d’y entrer en semaine.",
    ])
    .assigned_to(&[District(DISTRICT)]),
    manual(
        IN_THE_FLAT,
        "waves-ladder",
        "Pool, in summer",
        [
            "Terrace and pool",
            "Terraza y piscina",
            "Terrasse et piscine",
        ],
    )
    .with_body([
        "Open from 10:00 to 21:00. **No glass by the water**, a shower first, children never \
            alone. Quiet after 22:00.",
        "De 10:00 a 21:00. **Nada de vidrio junto al agua**, ducha antes, y los niños nunca solos. \
            Silencio desde las 22:00.",
        "De 10 h à 21 h. **Pas de verre près de l’eau**, douche avant, jamais d’enfants seuls. \
            Silence après 22 h.",
    ])
    .assigned_to(&[Flat(0), Flat(10), Flat(23)])
    .with_rules(summer),
    manual(
        IN_THE_FLAT,
        "brush-cleaning",
        "Cleaning, long stays",
        ["Cleaning", "Limpieza", "Ménage"],
    )
    .with_body([
        "You stay for a while, so we clean **every Tuesday between 10:00 and 13:00** and bring \
            fresh linen. You need not be in.",
        "Como te quedas un tiempo, limpiamos **los martes de 10:00 a 13:00** y traemos ropa \
            limpia. No hace falta que estés.",
        "Vous restez un moment : nous faisons le ménage **le mardi de 10 h à 13 h** et changeons \
            le linge, même sans vous.",
    ])
    .assigned_to(WHOLE_FLATS)
    .with_rules(long_stay),
    manual(
        IN_THE_FLAT,
        "coffee",
        "Breakfast, rooms",
        ["Breakfast", "Desayuno", "Petit-déjeuner"],
    )
    .with_body([
        "In the kitchen, from 8:00 to 10:30. Tell us the evening before what you do not eat.",
        "En la cocina, de 8:00 a 10:30. Dinos la noche anterior lo que no comes.",
        "Dans la cuisine, de 8 h à 10 h 30. Dites-nous la veille ce que vous ne mangez pas.",
    ])
    .assigned_to(&[Tag(ROOM_TYPE)]),
    manual(
        AROUND,
        "utensils",
        "Tips, Eixample",
        [
            "Where we go ourselves",
            "Adonde vamos nosotros",
            "Nos adresses",
        ],
    )
    .with_body([
        "- **Market**: Mercat del Ninot, closed on Sundays\n- **Evening**: Carrer d’Enric \
            Granados, tables under the trees\n- **Houses**: Casa Batlló and La Pedrera are \
            emptiest at 9:00",
        "- **Mercado**: Mercat del Ninot, cierra los domingos\n- **Noche**: la calle Enric \
            Granados, mesas bajo los árboles\n- **Casas**: la Casa Batlló y La Pedrera están más \
            vacías a las 9:00",
        "- **Marché** : Mercat del Ninot, fermé le dimanche\n- **Soir** : la rue Enric Granados, \
            tables sous les arbres\n- **Maisons** : la Casa Batlló et La Pedrera sont presque \
            vides à 9 h",
    ])
    .assigned_to(&[District(DISTRICT)]),
    manual(
        AROUND,
        "map-pin",
        "Tips, old town",
        [
            "In the old town",
            "En Ciutat Vella",
            "Dans la vieille ville",
        ],
    )
    .with_body([
        "On the Rambla keep your bag in front of you. Go to the Boqueria before 10:00, to the \
            cathedral’s cloister towards evening.",
        "En la Rambla, el bolso delante. La Boqueria, antes de las 10:00; el claustro de la \
            catedral, hacia la tarde.",
        "Sur la Rambla, gardez votre sac devant vous. La Boqueria avant 10 h, le cloître de la \
            cathédrale en fin de journée.",
    ])
    .assigned_to(&[District("Ciutat Vella")]),
    DemoManual {
        note: Some("Not for channels: their terms do not allow it."),
        ..manual(
            None,
            "luggage",
            "Luggage, direct bookings",
            ["Your luggage", "Tu equipaje", "Vos bagages"],
        )
        .with_body([
            "You booked with us, so we keep your luggage on the day you leave, until 20:00 and \
                free: Carrer de Mallorca 272.",
            "Has reservado con nosotros: el día de salida te guardamos el equipaje gratis hasta \
                las 20:00, en Carrer de Mallorca 272.",
            "Réservé chez nous : le jour du départ, nous gardons vos bagages gratuitement jusqu’à \
                20 h, Carrer de Mallorca 272.",
        ])
        .assigned_to(WHOLE_FLATS)
        .with_rules(booked_with_us)
    },
];

/// Manuals that no guest sees: a draft, and a manual without assignments.
const FOR_NOBODY: &[DemoManual] = &[
    DemoManual {
        is_active: false,
        ..manual(
            AROUND,
            "ticket",
            "La Mercè, a draft",
            ["La Mercè", "La Mercè", "La Mercè"],
        )
        .with_body([
            "The city’s own feast, around 24 September: human towers, fire runs, concerts, nearly \
                all of it free.",
            "La fiesta mayor, alrededor del 24 de septiembre: castells, correfocs y conciertos, \
                casi todo gratis.",
            "La fête de la ville, autour du 24 septembre : castells, correfocs et concerts, \
                presque tout est gratuit.",
        ])
        .assigned_to(EVERYWHERE)
    },
    manual(
        TROUBLE,
        "door-closed-locked",
        "Locked out, to be assigned",
        ["Locked out", "Sin llaves", "Enfermés dehors"],
    )
    .with_body([
        "Call us: a spare key is never more than half an hour away.",
        "Llámanos: hay una copia de la llave a menos de media hora.",
        "Appelez-nous : un double des clés n’est jamais à plus d’une demi-heure.",
    ]),
];

/// Creates the categories of manuals, and the manuals with their assignments. Returns the number of
/// manuals.
pub(super) async fn build(maker: &DemoBuilder<'_>, now: Timestamp) -> Result<usize, String> {
    let mut headings = Vec::new();
    for title in HEADINGS {
        headings.push(maker.heading(title).await?);
    }
    let year = now.to_zoned(TimeZone::UTC).year();
    let manuals: Vec<&DemoManual> = [FOR_MOST, FOR_SOME, FOR_NOBODY]
        .into_iter()
        .flatten()
        .collect();
    for manual in &manuals {
        let heading = manual.heading.and_then(|index| headings.get(index));
        maker.manual(manual, heading, year).await?;
    }
    Ok(manuals.len())
}

impl DemoBuilder<'_> {
    /// Creates a category of manuals, which guests see as a heading. Returns the id of the
    /// category.
    async fn heading(&self, title: &DemoText) -> Result<Value, String> {
        let [english, ..] = title;
        let category = self
            .api
            .call(
                "createPortalManualCategory",
                &[],
                json!({ "title": english }),
            )
            .await?;
        self.translate(&category["titleId"], title).await?;
        Ok(category["id"].clone())
    }

    /// Creates a manual with its translations, and assigns it.
    async fn manual(
        &self,
        manual: &DemoManual,
        heading: Option<&Value>,
        year: i16,
    ) -> Result<(), String> {
        let [title, ..] = manual.title;
        let mut fields = json!({
            "nickname": manual.nickname,
            "title": title,
            "manualCategoryId": heading,
            "iconName": manual.icon,
            "videoUrl": manual.video,
            "internalDescription": manual.note,
            "visibilityRules": (manual.rules)(year),
            "isActive": manual.is_active,
        });
        if let Some([english, ..]) = manual.body {
            fields["description"] = json!(english);
        } else {
            fields["displayMode"] = json!("pms_variable");
            fields["customFieldId"] = json!(self.portfolio.door_code);
        }
        let created = self.api.call("createPortalManual", &[], fields).await?;
        self.translate(&created["titleId"], &manual.title).await?;
        if let Some(body) = &manual.body {
            self.translate(&created["descriptionId"], body).await?;
        }
        self.assign("manual", &created["id"], manual.property_scope)
            .await
    }
}

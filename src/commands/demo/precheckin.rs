//! The pre-check-in of `vestibule demo`: at least one step of every type, with assignments and
//! texts in three languages.

use engine::ids::Ids;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::builder::AssignmentTarget::{self, District, Flat, Portal, Tag};
use super::builder::{DemoBuilder, DemoText};
use super::stays::{WITH_CHARGES, WITH_CONTRACT};
use super::{DISTRICT, ROOM_TYPE};

/// A question of a step.
struct DemoQuestion {
    /// The kind of answer, a value of the API's field `kind`.
    kind: &'static str,
    text: DemoText,
    /// Whether guests must answer the question before the step is complete.
    is_required: bool,
    options: &'static [DemoText],
    /// The index of an earlier question and the index of one of its options. Guests see this
    /// question only if they chose that option. `None` if every guest sees this question.
    after: Option<(usize, usize)>,
}

/// A step that the demo creates.
struct NewStep {
    /// The flats, tags or portals to which the step is assigned.
    property_scope: &'static [AssignmentTarget],
    /// The body of `createPrecheckStep` without the texts.
    fields: Value,
    is_active: bool,
    /// A heading that replaces the built-in heading.
    title: Option<DemoText>,
    /// Translated texts, each with the name of the field that refers to the text.
    texts: &'static [(&'static str, DemoText)],
    questions: &'static [DemoQuestion],
}

/// The name of the payment account for rents and fees.
const MAIN_ACCOUNT: &str = "Rents and fees";
/// The name of the payment account for deposits.
const DEPOSIT_ACCOUNT: &str = "Deposits";
/// The name of the account at the background-check provider.
const SCREENING: &str = "Guest screening";
/// The name of the fee that every guest pays.
const TOURIST_TAX: &str = "Tourist tax";

/// The host name of the guest links of one branding. Browsers resolve every name below `localhost`
/// to their own machine.
const DOMAIN: &str = "signature.localhost";
/// The name of an extra, which the guest of one stay puts into the cart.
pub(super) const BREAKFAST: &str = "Breakfast basket";

/// All three portals. Every flat has one of these portals.
const EVERY_PORTAL: &[AssignmentTarget] = &[Portal(0), Portal(1), Portal(2)];
/// All flats that guests do not share with others.
const WHOLE_FLATS: &[AssignmentTarget] = &[Tag("Entire home/apt")];

/// Returns a required question without a condition.
const fn question(kind: &'static str, text: DemoText) -> DemoQuestion {
    DemoQuestion {
        kind,
        text,
        is_required: true,
        options: &[],
        after: None,
    }
}

/// Questions for all guests in two districts.
const ARRIVAL: &[DemoQuestion] = &[
    DemoQuestion {
        options: &[
            ["By plane", "En avión", "En avion"],
            ["By train", "En tren", "En train"],
            ["By car", "En coche", "En voiture"],
        ],
        ..question(
            "single_select",
            [
                "How will you get here?",
                "¿Cómo llegarás?",
                "Comment arriverez-vous ?",
            ],
        )
    },
    DemoQuestion {
        is_required: false,
        after: Some((0, 0)),
        ..question(
            "free_form_input",
            [
                "What is your flight number?",
                "¿Cuál es el número de tu vuelo?",
                "Quel est le numéro de votre vol ?",
            ],
        )
    },
    DemoQuestion {
        after: Some((0, 2)),
        ..question(
            "free_form_input",
            [
                "What is its number plate?",
                "¿Cuál es la matrícula?",
                "Quelle est la plaque d’immatriculation ?",
            ],
        )
    },
    DemoQuestion {
        options: &[
            [
                "From 15:00 to 20:00",
                "De 15:00 a 20:00",
                "Entre 15 h et 20 h",
            ],
            [
                "From 20:00 to 23:00",
                "De 20:00 a 23:00",
                "Entre 20 h et 23 h",
            ],
            ["After 23:00", "Después de las 23:00", "Après 23 h"],
        ],
        ..question(
            "single_select",
            [
                "When will you be here?",
                "¿A qué hora llegarás?",
                "À quelle heure serez-vous là ?",
            ],
        )
    },
    question(
        "yes_no",
        [
            "Do you need a baby cot?",
            "¿Necesitas una cuna?",
            "Avez-vous besoin d’un lit bébé ?",
        ],
    ),
    DemoQuestion {
        options: &[["One", "Una", "Un"], ["Two", "Dos", "Deux"]],
        after: Some((4, 0)),
        ..question("single_select", ["How many?", "¿Cuántas?", "Combien ?"])
    },
    DemoQuestion {
        is_required: false,
        options: &[
            ["Coffee and milk", "Café y leche", "Café et lait"],
            ["Fruit", "Fruta", "Fruits"],
        ],
        ..question(
            "multi_select",
            [
                "What shall we put in the kitchen?",
                "¿Qué dejamos en la cocina?",
                "Que mettons-nous dans la cuisine ?",
            ],
        )
    },
];

/// Questions for guests whose host opens the door.
const MEETING: &[DemoQuestion] = &[question(
    "free_form_input",
    [
        "On which number do we reach you?",
        "¿En qué número te encontramos?",
        "À quel numéro vous joindre ?",
    ],
)];

/// Questions of an inactive step, which no guest sees.
const PETS: &[DemoQuestion] = &[
    question(
        "yes_no",
        [
            "Are you bringing a pet?",
            "¿Traes una mascota?",
            "Amenez-vous un animal ?",
        ],
    ),
    DemoQuestion {
        after: Some((0, 0)),
        ..question("free_form_input", ["Which one?", "¿Cuál?", "Lequel ?"])
    },
];

/// The agreement for guests of a whole flat.
const HOUSE_RULES: DemoText = [
    "1. Nobody but the guests of this pre-check-in stays overnight, and there are no parties.\n2. \
        Quiet from 22:00 to 8:00, on the stairs and the terrace too.\n3. No smoking indoors.\n4. \
        Check-out is at 11:00; leave the keys in the box by the door.\n5. Tell us what broke. \
        Damage beyond wear is paid from the deposit.",
    "1. Solo pernoctan los huéspedes de este pre-check-in, y no se hacen fiestas.\n2. Silencio de \
        22:00 a 8:00, también en la escalera y la terraza.\n3. No se fuma dentro.\n4. La salida es \
        a las 11:00; deja las llaves en la caja junto a la puerta.\n5. Avísanos de lo que se \
        rompa. Los daños que no sean desgaste se descuentan de la fianza.",
    "1. Seuls les voyageurs de ce pré-enregistrement passent la nuit ici, et il n’y a pas de \
        fête.\n2. Silence de 22 h à 8 h, aussi dans l’escalier et sur la terrasse.\n3. On ne fume \
        pas à l’intérieur.\n4. Le départ est à 11 h ; laissez les clés dans la boîte près de la \
        porte.\n5. Signalez ce qui a été cassé. Les dégâts au-delà de l’usure sont retenus sur le \
        dépôt de garantie.",
];

/// The text above the tourist tax.
const TAX_EXPLAINED: DemoText = [
    "The city and Catalonia tax each guest and night. We collect the tax and pass it on.",
    "La ciudad y Cataluña cobran por huésped y noche. Recaudamos la tasa y la ingresamos.",
    "La ville et la Catalogne taxent chaque voyageur et chaque nuit. Nous percevons la taxe et la \
        reversons.",
];

/// The text above the deposit.
const DEPOSIT_EXPLAINED: DemoText = [
    "We hold 200 € on your card two days before you arrive, and release them a week after you have \
        left. Or take the damage waiver for 25 €, and nothing is held.",
    "Retenemos 200 € en tu tarjeta dos días antes de tu llegada y los liberamos una semana después \
        de tu salida. O contrata la cobertura de daños por 25 € y no retenemos nada.",
    "Nous bloquons 200 € sur votre carte deux jours avant l’arrivée et les libérons une semaine \
        après le départ. Ou prenez la garantie dommages à 25 €, et rien n’est bloqué.",
];

/// The heading above the rental contract.
const CONTRACT_TITLE: DemoText = [
    "Rental contract",
    "Contrato de alquiler",
    "Contrat de location",
];
/// The text above the rental contract.
const CONTRACT_SUBTITLE: DemoText = [
    "Sign it with our e-signature service. It takes two minutes.",
    "Fírmalo con nuestro servicio de firma electrónica. Son dos minutos.",
    "Signez-le avec notre service de signature électronique. Cela prend deux minutes.",
];

/// Returns the records to which the steps of the demo refer, such as payment accounts, as items of
/// a sync request.
pub(super) fn records(ids: &Ids, now: Timestamp) -> Vec<Value> {
    let data = [
        (
            "payment_account",
            json!({ "name": MAIN_ACCOUNT, "isActive": true, "isDefault": true }),
        ),
        (
            "payment_account",
            json!({ "name": DEPOSIT_ACCOUNT, "isActive": true, "isDefault": false }),
        ),
        (
            "background_check_account",
            json!({ "name": SCREENING, "isActive": true }),
        ),
        (
            "fee_product",
            json!({ "name": TOURIST_TAX, "amountCents": 2200, "currency": "EUR" }),
        ),
        (
            "damage_waiver",
            json!({
                "name": "Damage waiver up to 1,000 €",
                "amountCents": 2500,
                "currency": "EUR",
            }),
        ),
        (
            "custom_url",
            json!({ "host": DOMAIN, "isGuestPortal": true }),
        ),
        (
            "upsell",
            json!({
                "name": "Late check-out",
                "description": "Until 14:00.",
                "priceCents": 2500,
                "currency": "EUR",
            }),
        ),
        (
            "upsell",
            json!({
                "name": BREAKFAST,
                "description": "Bread, fruit and coffee for two.",
                "priceCents": 1800,
                "currency": "EUR",
            }),
        ),
        (
            "upsell",
            json!({ "name": "Taxi from the airport", "priceCents": 4200, "currency": "EUR" }),
        ),
    ];
    data.into_iter()
        .map(|(kind, data)| json!({ "kind": kind, "id": ids.uuid(now), "data": data }))
        .collect()
}

/// Returns the id of a record by its name.
pub(super) fn record_id_by_name(records: &[Value], name: &str) -> Value {
    id_by_field(records, "name", name)
}

/// Returns the id of the custom URL whose host is [`DOMAIN`].
pub(super) fn branding_domain_id(records: &[Value]) -> Value {
    id_by_field(records, "host", DOMAIN)
}

/// Returns the id of the first record in which this field has this value. Returns null if there is
/// no such record.
fn id_by_field(records: &[Value], field: &str, value: &str) -> Value {
    records
        .iter()
        .find(|record| record["data"][field] == value)
        .map_or(Value::Null, |record| record["id"].clone())
}

/// Returns an active step without texts of its own.
fn step(
    step_type: &str,
    nickname: &str,
    property_scope: &'static [AssignmentTarget],
    mut fields: Value,
) -> NewStep {
    fields["stepType"] = json!(step_type);
    fields["nickname"] = json!(nickname);
    NewStep {
        property_scope,
        fields,
        is_active: true,
        title: None,
        texts: &[],
        questions: &[],
    }
}

/// Steps about the guests: details, identity, background, registration.
fn guest_steps(records: &[Value]) -> Vec<NewStep> {
    let details = json!({
        "isAlwaysShown": true,
        "requiredGuestFields": ["firstName", "lastName", "email", "phone"],
    });
    let identity = json!({
        "isReturningGuestExcluded": true,
        "minimumGuestAge": 18,
        "identityFlagPolicy": {
            "document_expired": "fail",
            "document_unreadable": "fail",
            "name_mismatch": "review",
            "guest_underage": "review",
        },
    });
    let background = json!({
        "leadTimeMaxDays": 14,
        "backgroundCheckAccountId": record_id_by_name(records, SCREENING),
    });
    let others =
        json!({ "sortOrder": 0, "requiredGuestFields": ["firstName", "lastName", "birthDate"] });
    let report = json!({
        "sortOrder": 1,
        "authorityProvider": "traveller_register",
        "isAuthorityProviderPropertyInfoEmailEnabled": true,
    });
    vec![
        step("your_details", "Lead guest", EVERY_PORTAL, details),
        step(
            "identity_check",
            "Identity of new guests",
            WHOLE_FLATS,
            identity,
        ),
        step(
            "background_check",
            "Background, late bookings",
            &[District(DISTRICT)],
            background,
        ),
        step("other_guests", "Everyone who stays", EVERY_PORTAL, others),
        NewStep {
            title: Some([
                "Register of travellers",
                "Registro de viajeros",
                "Registre des voyageurs",
            ]),
            ..step(
                "authority_reporting",
                "Report to the police",
                EVERY_PORTAL,
                report,
            )
        },
    ]
}

/// Steps about the stay: questions, documents, house rules.
fn stay_steps() -> Vec<NewStep> {
    let arrival = json!({ "sortOrder": 0, "isManualReviewEnabled": false });
    let papers = json!({ "minLos": 32, "requiredDocumentTypes": ["reason_for_the_stay"] });
    let room_rules = json!({
        "agreementType": "text",
        "contractTemplateText": "The kitchen is shared and closes at 22:00. No visitors overnight, \
            and no smoking indoors.",
    });
    vec![
        NewStep {
            title: Some(["Your arrival", "Tu llegada", "Votre arrivée"]),
            questions: ARRIVAL,
            ..step(
                "additional_questions",
                "Arrival and extras",
                &[District(DISTRICT), District("Ciutat Vella")],
                arrival,
            )
        },
        NewStep {
            questions: MEETING,
            ..step(
                "additional_questions",
                "Host at the door",
                &[Flat(1)],
                json!({ "sortOrder": 1 }),
            )
        },
        step(
            "document_upload",
            "Papers, 32 nights and more",
            WHOLE_FLATS,
            papers,
        ),
        NewStep {
            title: Some(["House rules", "Normas de la casa", "Règlement intérieur"]),
            texts: &[("contractTemplateTextMlTextId", HOUSE_RULES)],
            ..step(
                "agreement",
                "House rules of the flats",
                WHOLE_FLATS,
                json!({ "agreementType": "text", "isMandatorySigning": true }),
            )
        },
        NewStep {
            texts: &[
                ("esignATitleMlTextId", CONTRACT_TITLE),
                ("esignASubtitleMlTextId", CONTRACT_SUBTITLE),
            ],
            ..step(
                "agreement",
                "Rental contract, signed elsewhere",
                &[Flat(WITH_CONTRACT)],
                json!({
                    "agreementType": "esign_a",
                    "esignATemplateId": "rental-contract",
                    "isMandatorySigning": true,
                }),
            )
        },
        step(
            "agreement",
            "House rules of the rooms",
            &[Tag(ROOM_TYPE)],
            room_rules,
        ),
        step("main", "Ready", EVERY_PORTAL, json!({})),
    ]
}

/// Returns the steps about payments: the tourist tax, the damage deposit and the damage protection.
fn payment_steps(records: &[Value]) -> Vec<NewStep> {
    let account = record_id_by_name(records, MAIN_ACCOUNT);
    let tax = json!({
        "feeProductIds": [record_id_by_name(records, TOURIST_TAX)],
        "feesPaymentAccountId": account,
    });
    let deposit = json!({
        "inclusionType": "all_except_selected",
        "excludedSources": ["booking.com"],
        "isSecurityDepositEnabled": true,
        "securityDepositAmountCents": 20_000,
        "securityDepositDaysBeforeCheckin": 2,
        "securityDepositReleaseDaysAfterCheckout": 7,
        "securityDepositPaymentAccountId": record_id_by_name(records, DEPOSIT_ACCOUNT),
        "isDamageWaiverEnabled": true,
        "damageWaiverDepositAmountCents": 2500,
        "damageWaiverCapCents": 100_000,
        "damageWaiverPricingBasis": "per_stay",
        "damageWaiverPaymentAccountId": account,
    });
    let protection =
        json!({ "inclusionType": "only_selected", "includedSourcesReturning": ["booking.com"] });
    vec![
        NewStep {
            title: Some(["Tourist tax", "Tasa turística", "Taxe de séjour"]),
            texts: &[("guestDescriptionMlTextId", TAX_EXPLAINED)],
            ..step("mandatory_fee", "Tourist tax", EVERY_PORTAL, tax)
        },
        NewStep {
            texts: &[("guestDescriptionMlTextId", DEPOSIT_EXPLAINED)],
            ..step(
                "damage_deposit",
                "Deposit or waiver",
                &[Flat(0), Flat(1), Flat(2), Flat(3), Flat(WITH_CHARGES)],
                deposit,
            )
        },
        step(
            "screen_and_protect",
            "Protection, booking.com",
            &[Portal(0)],
            protection,
        ),
    ]
}

/// Inactive steps: a draft, an outdated step, and a step that the team can activate later.
fn inactive_steps() -> Vec<NewStep> {
    let terms = json!({
        "contractTemplateText": "The roof terrace is open until midnight in July and August.",
    });
    let permit = json!({ "requiredDocumentTypes": ["parking_permit"] });
    let steps = [
        NewStep {
            questions: PETS,
            ..step(
                "additional_questions",
                "Pets, a draft",
                &[District(DISTRICT)],
                json!({ "sortOrder": 2 }),
            )
        },
        step("agreement", "Terms of last summer", &[], terms),
        step("document_upload", "Parking permit", WHOLE_FLATS, permit),
    ];
    steps
        .into_iter()
        .map(|step| NewStep {
            is_active: false,
            ..step
        })
        .collect()
}

/// Creates the steps with their assignments. Returns their number.
pub(super) async fn build(maker: &DemoBuilder<'_>, records: &[Value]) -> Result<usize, String> {
    let groups = [
        guest_steps(records),
        stay_steps(),
        payment_steps(records),
        inactive_steps(),
    ];
    let steps: Vec<NewStep> = groups.into_iter().flatten().collect();
    for step in &steps {
        maker.step(step).await?;
    }
    Ok(steps.len())
}

impl DemoBuilder<'_> {
    /// Creates a step with its texts and questions, and assigns it.
    async fn step(&self, step: &NewStep) -> Result<(), String> {
        let mut fields = step.fields.clone();
        fields["isActive"] = json!(step.is_active);
        for (field, text) in step.texts {
            fields[*field] = self.text("precheck_step_detail", text).await?;
        }
        if !step.questions.is_empty() {
            fields["questions"] = self.questions(step.questions).await?;
        }
        if let Some([english, ..]) = step.title {
            fields["displayTitle"] = json!(english);
        }
        let created = self.api.call("createPrecheckStep", &[], fields).await?;
        if let Some(title) = &step.title {
            self.translate(&created["displayTitleMlTextId"], title)
                .await?;
        }
        self.assign("precheck_step", &created["id"], step.property_scope)
            .await
    }

    /// Creates the texts of the questions of a step. Returns the questions as the value of the
    /// step's field `questions`.
    async fn questions(&self, questions: &[DemoQuestion]) -> Result<Value, String> {
        let mut values = Vec::new();
        for question in questions {
            let text = self.text("precheck_question", &question.text).await?;
            let mut options = Vec::new();
            for name in question.options {
                let name = self.text("precheck_question", name).await?;
                options.push(json!({ "nameMlTextId": name }));
            }
            let after = question.after.iter().map(
                |(question, option)| json!({ "questionIndex": question, "optionIndex": option }),
            );
            let conditions: Vec<Value> = after.collect();
            values.push(json!({
                "kind": question.kind,
                "textMlTextId": text,
                "isRequired": question.is_required,
                "options": options,
                "conditions": conditions,
            }));
        }
        Ok(Value::Array(values))
    }
}

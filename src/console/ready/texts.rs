//! The texts of the ready set, in the languages of the guest's page.

use crate::words::LANGUAGES;

/// A text in each of [`LANGUAGES`], in their order.
pub(super) type ReadyText = [&'static str; LANGUAGES.len()];

/// The agreement of the house rules.
pub(super) static AGREEMENT: ReadyText = [
    "Please treat the flat as your own. No smoking indoors, no parties, and quiet between 22:00 and 8:00. Tell us at once if something breaks.",
    "يرجى التعامل مع الشقة كأنها بيتكم. التدخين ممنوع في الداخل، ولا تُقام حفلات، والهدوء مطلوب من الساعة 22:00 إلى 8:00. أخبرونا فورًا إذا تعطّل شيء.",
    "Si us plau, tracti l’allotjament com si fos seu. No es fuma a dins, no es fan festes i hi ha silenci de 22:00 a 8:00. Avisi’ns de seguida si alguna cosa es trenca.",
    "Bitte behandeln Sie die Wohnung wie Ihre eigene. Rauchen Sie nicht in den Räumen, feiern Sie keine Partys, und halten Sie von 22 bis 8 Uhr Ruhe. Sagen Sie uns gleich Bescheid, wenn etwas kaputtgeht.",
    "Por favor, trate el alojamiento como si fuera suyo. No se fuma dentro, no se hacen fiestas y hay silencio de 22:00 a 8:00. Avísenos enseguida si algo se rompe.",
    "Merci de prendre soin du logement comme du vôtre. Ne fumez pas à l’intérieur, pas de fêtes, et silence de 22 h à 8 h. Prévenez-nous aussitôt si quelque chose casse.",
    "אנא התייחסו לדירה כאילו הייתה שלכם. אין לעשן בפנים, אין לערוך מסיבות, ויש לשמור על שקט בין 22:00 ל־8:00. הודיעו לנו מיד אם משהו נשבר.",
    "Vi preghiamo di trattare l’alloggio come se fosse vostro. Non si fuma all’interno, niente feste, e silenzio dalle 22 alle 8. Avvisateci subito se qualcosa si rompe.",
    "Behandel de woning alsof het uw eigen woning is. Rook niet binnen, geef geen feesten, en houd het stil tussen 22.00 en 8.00 uur. Laat het ons meteen weten als er iets stukgaat.",
    "Por favor, trate o alojamento como se fosse seu. Não se fuma no interior, não se fazem festas e há silêncio das 22h às 8h. Avise-nos logo se algo se partir.",
];

/// The question of the time of arrival.
pub(super) static QUESTION: ReadyText = [
    "At what time do you expect to arrive?",
    "في أي ساعة تتوقعون الوصول؟",
    "A quina hora espera arribar?",
    "Wann werden Sie voraussichtlich ankommen?",
    "¿A qué hora espera llegar?",
    "Vers quelle heure pensez-vous arriver ?",
    "באיזו שעה אתם צפויים להגיע?",
    "A che ora prevedete di arrivare?",
    "Hoe laat verwacht u aan te komen?",
    "A que horas espera chegar?",
];

/// The title of the manual of the wireless network.
pub(super) static WIFI_TITLE: ReadyText = [
    "Wi-Fi",
    "الواي فاي",
    "Wifi",
    "WLAN",
    "Wifi",
    "Wi-Fi",
    "אינטרנט אלחוטי",
    "Wi-Fi",
    "Wifi",
    "Wi-Fi",
];

/// The manual of the wireless network.
pub(super) static WIFI: ReadyText = [
    "Network: **{{property.wifiName}}**\nPassword: **{{property.wifiPassword}}**",
    "الشبكة: **{{property.wifiName}}**\nكلمة المرور: **{{property.wifiPassword}}**",
    "Xarxa: **{{property.wifiName}}**\nContrasenya: **{{property.wifiPassword}}**",
    "Netz: **{{property.wifiName}}**\nPasswort: **{{property.wifiPassword}}**",
    "Red: **{{property.wifiName}}**\nContraseña: **{{property.wifiPassword}}**",
    "Réseau : **{{property.wifiName}}**\nMot de passe : **{{property.wifiPassword}}**",
    "רשת: **{{property.wifiName}}**\nסיסמה: **{{property.wifiPassword}}**",
    "Rete: **{{property.wifiName}}**\nPassword: **{{property.wifiPassword}}**",
    "Netwerk: **{{property.wifiName}}**\nWachtwoord: **{{property.wifiPassword}}**",
    "Rede: **{{property.wifiName}}**\nPalavra-passe: **{{property.wifiPassword}}**",
];

/// The title of the manual of the arrival.
pub(super) static ARRIVAL_TITLE: ReadyText = [
    "Your arrival",
    "وصولكم",
    "La seva arribada",
    "Ihre Ankunft",
    "Su llegada",
    "Votre arrivée",
    "ההגעה שלכם",
    "Il vostro arrivo",
    "Uw aankomst",
    "A sua chegada",
];

/// The manual of the arrival.
pub(super) static ARRIVAL: ReadyText = [
    "You can come from {{property.checkInTime}} on {{stay.checkIn}}. The address is {{property.address}}.",
    "يمكنكم الوصول ابتداءً من {{property.checkInTime}} في {{stay.checkIn}}. العنوان: {{property.address}}.",
    "Pot arribar a partir de les {{property.checkInTime}} el {{stay.checkIn}}. L’adreça és {{property.address}}.",
    "Sie können am {{stay.checkIn}} ab {{property.checkInTime}} kommen. Die Adresse ist {{property.address}}.",
    "Puede llegar a partir de las {{property.checkInTime}} el {{stay.checkIn}}. La dirección es {{property.address}}.",
    "Vous pouvez arriver à partir de {{property.checkInTime}} le {{stay.checkIn}}. L’adresse est {{property.address}}.",
    "אפשר להגיע החל מ־{{property.checkInTime}} ב־{{stay.checkIn}}. הכתובת: {{property.address}}.",
    "Potete arrivare dalle {{property.checkInTime}} del {{stay.checkIn}}. L’indirizzo è {{property.address}}.",
    "U kunt op {{stay.checkIn}} vanaf {{property.checkInTime}} komen. Het adres is {{property.address}}.",
    "Pode chegar a partir das {{property.checkInTime}} de {{stay.checkIn}}. A morada é {{property.address}}.",
];

/// The title of the manual of the departure.
pub(super) static LEAVING_TITLE: ReadyText = [
    "Your departure",
    "مغادرتكم",
    "La seva sortida",
    "Ihre Abreise",
    "Su salida",
    "Votre départ",
    "העזיבה שלכם",
    "La vostra partenza",
    "Uw vertrek",
    "A sua partida",
];

/// The manual of the departure.
pub(super) static LEAVING: ReadyText = [
    "Please leave by {{property.checkOutTime}} on {{stay.checkOut}}. Close the windows, switch off the lights, and take out the rubbish.",
    "يرجى المغادرة قبل {{property.checkOutTime}} في {{stay.checkOut}}. أغلقوا النوافذ وأطفئوا الأضواء وأخرجوا القمامة.",
    "Si us plau, surti abans de les {{property.checkOutTime}} el {{stay.checkOut}}. Tanqui les finestres, apagui els llums i tregui les escombraries.",
    "Bitte reisen Sie am {{stay.checkOut}} bis {{property.checkOutTime}} ab. Schließen Sie die Fenster, schalten Sie das Licht aus, und bringen Sie den Müll hinaus.",
    "Por favor, salga antes de las {{property.checkOutTime}} el {{stay.checkOut}}. Cierre las ventanas, apague las luces y saque la basura.",
    "Merci de partir avant {{property.checkOutTime}} le {{stay.checkOut}}. Fermez les fenêtres, éteignez les lumières et sortez les poubelles.",
    "אנא צאו עד {{property.checkOutTime}} ב־{{stay.checkOut}}. סגרו את החלונות, כבו את האורות והוציאו את האשפה.",
    "Vi preghiamo di partire entro le {{property.checkOutTime}} del {{stay.checkOut}}. Chiudete le finestre, spegnete le luci e portate fuori la spazzatura.",
    "Vertrek op {{stay.checkOut}} uiterlijk om {{property.checkOutTime}}. Sluit de ramen, doe het licht uit en neem het afval mee.",
    "Por favor, saia até às {{property.checkOutTime}} de {{stay.checkOut}}. Feche as janelas, apague as luzes e leve o lixo.",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_text_stands_in_the_place_of_its_language() {
        let place = |language: &str| {
            LANGUAGES
                .iter()
                .position(|known| *known == language)
                .unwrap()
        };
        for (language, title) in [
            ("en", "Your departure"),
            ("ca", "La seva sortida"),
            ("de", "Ihre Abreise"),
            ("es", "Su salida"),
            ("fr", "Votre départ"),
            ("it", "La vostra partenza"),
            ("nl", "Uw vertrek"),
            ("pt", "A sua partida"),
        ] {
            assert_eq!(LEAVING_TITLE[place(language)], title);
        }
        let is_arabic = |letter: char| ('\u{600}'..='\u{6ff}').contains(&letter);
        let is_hebrew = |letter: char| ('\u{590}'..='\u{5ff}').contains(&letter);
        let all: [&ReadyText; 8] = [
            &AGREEMENT,
            &QUESTION,
            &WIFI_TITLE,
            &WIFI,
            &ARRIVAL_TITLE,
            &ARRIVAL,
            &LEAVING_TITLE,
            &LEAVING,
        ];
        for text in all {
            for (language, text) in LANGUAGES.into_iter().zip(text) {
                let is_in = (text.contains(is_arabic), text.contains(is_hebrew));
                assert_eq!(is_in, (language == "ar", language == "he"), "{text}");
            }
        }
        let english = all.map(|text| text[place("en")].split(' ').next().unwrap_or_default());
        assert_eq!(
            english,
            [
                "Please", "At", "Wi-Fi", "Network:", "Your", "You", "Your", "Please"
            ]
        );
    }
}

//! Texts of the charges of a stay.

use super::words;

words! {
    pub struct ChargesWords {
        charges: "Charges", "Cargos", "Frais";
        fee: "Fee", "Tasa", "Frais obligatoires";
        waiver: "Damage waiver", "Exención de daños", "Exonération";
        deposit: "Deposit", "Fianza", "Caution";
        due: "To be paid", "Por pagar", "À payer";
        paid: "Paid", "Pagado", "Payé";
        failed: "Failed", "Fallido", "Échoué";
        released: "Released", "Devuelto", "Rendu";
        cancelled: "Cancelled", "Cancelado", "Annulé";
        due_at: "Due", "Vence", "Échéance";
        release_at: "To be released", "Se devuelve", "À rendre";
        account: "Account", "Cuenta", "Compte";
        no_account: "No active payment account", "Ninguna cuenta de cobro activa", "Aucun compte de paiement actif";
        message: "Reported", "Informado", "Signalé";
        reference: "Reference", "Referencia", "Référence";
        more: "There are more charges, which the interface answers in full.", "Hay más cargos; la interfaz los da completos.", "Il y a d’autres frais ; l’interface les donne en entier.";
    }
}

impl ChargesWords {
    /// Returns the label of a kind.
    pub fn kind(&self, kind: &str) -> &'static str {
        match kind {
            "waiver" => self.waiver,
            "deposit" => self.deposit,
            _ => self.fee,
        }
    }

    /// Returns the label and the style of a status.
    pub fn status(&self, status: &str) -> (&'static str, &'static str) {
        match status {
            "paid" => (self.paid, "on"),
            "failed" => (self.failed, "bad"),
            "released" => (self.released, ""),
            "cancelled" => (self.cancelled, ""),
            _ => (self.due, "off"),
        }
    }
}

### The labels of values to choose from. French, addressed as vous.

whatsapp = WhatsApp
text = Texte
phone = Appel
uber = Uber
report_an_issue = Signaler un problème
find_parking = Trouver un parking
find_parking_justpark = Trouver un parking avec JustPark
rent_baby_gear = Louer du matériel pour bébé

confirmed = Confirmé
tentative = Provisoire
cancelled = Annulé

your_details = Coordonnées du voyageur
identity_check = Vérification d’identité
background_check = Contrôle des antécédents
other_guests = Autres voyageurs
authority_reporting = Déclaration aux autorités
additional_questions = Questions
document_upload = Documents à envoyer
agreement = Contrat
mandatory_fee = Frais obligatoires
damage_deposit = Caution
screen_and_protect = Contrôle et protection
main = Général

lead = La personne qui a réservé
others = Les autres
per_night = Par nuit
per_stay = Par séjour
template = Modèle
esign_a = Signature électronique, premier prestataire
esign_b = Signature électronique, second prestataire
all_except_selected = Tous sauf ceux choisis
only_selected = Seulement ceux choisis
hold = Retenir
import = Importer
ignore = Ignorer
review = Transmettre à l’équipe
fail = Permettre un nouvel essai
single_select = Une parmi plusieurs
multi_select = Plusieurs à la fois
yes_no = Oui ou non
free_form_input = Un texte
yes = Oui
no = Non

multi_lingual_text = Le texte
pms_variable = Un champ personnalisé du logement
relative_date = Moment du séjour
    .hint = Affiché d’un moment du séjour à un autre ; un côté laissé vide reste ouvert.
seasonal = Saison
    .hint = Affiché aux séjours dont une nuit tombe dans une saison.
length_of_stay = Durée du séjour
    .hint = Affiché aux séjours d’autant de nuits, les deux limites comprises.
booking_source = Canal de réservation
    .hint = Affiché aux séjours réservés par certains canaux.
verification_status = Identité du voyageur
    .hint = Affiché tant que l’identité du voyageur est ainsi vérifiée.
before_check_in = Avant l’arrivée
after_check_in = Après l’arrivée
before_check_out = Avant le départ
after_check_out = Après le départ
check_in_time = À l’arrivée
check_out_time = Au départ
day = Jours
hour = Heures

deposit = Caution
none = Aucune
waiver = Exonération
unverified = Non vérifiée
pending = En attente
verified = Vérifiée
failed = Échouée

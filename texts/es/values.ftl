### The labels of values to choose from. Spanish, addressed as usted.

whatsapp = WhatsApp
text = Texto
phone = Llamada
uber = Uber
report_an_issue = Avisar de un problema
find_parking = Buscar aparcamiento
find_parking_justpark = Buscar aparcamiento con JustPark
rent_baby_gear = Alquilar artículos de bebé

confirmed = Confirmada
tentative = Provisional
cancelled = Cancelada

your_details = Datos del huésped
identity_check = Verificación de identidad
background_check = Comprobación de antecedentes
other_guests = Otros huéspedes
authority_reporting = Parte a las autoridades
additional_questions = Preguntas
document_upload = Documentos que subir
agreement = Acuerdo
mandatory_fee = Tasa obligatoria
damage_deposit = Fianza
screen_and_protect = Filtro y protección
main = General

lead = Quien reservó
others = Los demás
per_night = Por noche
per_stay = Por estancia
template = Plantilla
esign_a = Firma electrónica, primer proveedor
esign_b = Firma electrónica, segundo proveedor
all_except_selected = Todos menos los elegidos
only_selected = Solo los elegidos
hold = Retener
import = Importar
ignore = Ignorar
review = Pasar al equipo
fail = Permitir un nuevo intento
single_select = Una de varias
multi_select = Varias a la vez
yes_no = Sí o no
free_form_input = Un texto
yes = Sí
no = No

multi_lingual_text = El texto
pms_variable = Un campo propio del alojamiento
relative_date = Momento de la estancia
    .hint = Se muestra desde un momento de la estancia hasta otro; el lado que falta queda abierto.
seasonal = Temporada
    .hint = Se muestra a estancias con alguna noche en una temporada.
length_of_stay = Duración de la estancia
    .hint = Se muestra a estancias de tantas noches, con ambos límites incluidos.
booking_source = Canal de reserva
    .hint = Se muestra a estancias reservadas por ciertos canales.
verification_status = Identidad del huésped
    .hint = Se muestra mientras la identidad del huésped esté así de verificada.
before_check_in = Antes de la llegada
after_check_in = Después de la llegada
before_check_out = Antes de la salida
after_check_out = Después de la salida
check_in_time = A la llegada
check_out_time = A la salida
day = Días
hour = Horas

deposit = Fianza
none = Ninguna
waiver = Exención de daños
unverified = Sin verificar
pending = Pendiente
verified = Verificada
failed = Fallida

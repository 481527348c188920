### The page for guests. Spanish, addressed as tú.

steps-your-details = Tus datos
steps-identity-check = Verifica tu identidad
steps-background-check = Verificación de antecedentes
steps-other-guests = Otros huéspedes
steps-authority-reporting = Registro de viajeros
steps-additional-questions = Algunas preguntas
steps-document-upload = Sube tus documentos
steps-agreement = Contrato de alquiler
steps-mandatory-fee = Tasas obligatorias
steps-damage-deposit = Fianza
steps-screen-and-protect = Protección de la estancia
steps-main = Listo para la entrada

happens-identity-check = Tu anfitrión comprueba quién se aloja y te indicará cómo mostrar tu documento de identidad.
happens-background-check = Tu anfitrión encarga una verificación de antecedentes con los datos de tu reserva.
happens-authority-reporting = Tu anfitrión registra a los huéspedes ante las autoridades, como exige la ley, y puede pedirte los datos que hagan falta.
happens-document-upload = Tu anfitrión necesita algunos documentos.
happens-mandatory-fee = Tu estancia incluye tasas obligatorias. Tu anfitrión las cobra por separado.
happens-damage-deposit = Tu anfitrión pide una fianza y te indicará cómo abonarla.
happens-screen-and-protect = Un servicio especializado comprueba y protege tu estancia por encargo de tu anfitrión.
happens-main = Confirma que todo está listo para tu llegada.

common-yes = Sí
common-no = No
common-required = obligatorio
common-optional = opcional
common-choose = Elige…
common-choose-any = Marca todas las opciones que correspondan.
common-no-answer = Sin respuesta
common-send = Enviar
common-remove = Quitar
common-continue = Continuar
common-skip = Ir al contenido
common-language = Idioma
common-shortcuts = Accesos directos

phase-your-stay = Tu estancia
phase-arrives-today = Hoy es el día de tu llegada
phase-here-until = Te alojas aquí hasta el { $date }
phase-departure = Día de salida
phase-leave-by = Deja el alojamiento antes de esta hora: { $time }. ¡Buen viaje!
phase-thanks = Gracias por tu estancia
phase-thanks-more = Ha sido un placer tenerte aquí. Nos encantará recibirte de nuevo.
phase-cancelled = Esta estancia se ha cancelado.
phase-cancelled-contact = Si no te lo esperabas, ponte en contacto con nosotros.
phase-tentative = Tu reserva aún no está confirmada.
phase-check-in = Entrada
phase-check-out = Salida
phase-from-time = desde las { $time }
phase-until-time = hasta las { $time }
phase-nights = { $n ->
    [one] 1 noche
   *[other] { $n } noches
}
phase-address = Dirección
phase-at-the-door = En la puerta
phase-getting-there = Cómo llegar
phase-before-you-leave = Antes de irte
phase-nothing-yet = Tu anfitrión aún no ha preparado esta página.
phase-instructions = Tu llegada, paso a paso

precheckin-title = Pre-check-in
precheckin-prompt = Completa tu pre-check-in antes de llegar.
precheckin-progress = { $done } de { $total } pasos hechos
precheckin-next = Siguiente: { $title }
precheckin-position = Paso { $n } de { $total }
precheckin-resume = Continuar el pre-check-in
precheckin-save-and-continue = Guardar y continuar
precheckin-more = Guardado. Aún queda algo por completar aquí.
precheckin-confirm = Confirmar
precheckin-review = Revisa tus respuestas
precheckin-review-hint = Comprueba que todo es correcto y envíalo.
precheckin-change = Cambiar
precheckin-change-what = Cambiar { $title }
precheckin-not-answered = Sin responder
precheckin-submit = Enviar el pre-check-in
precheckin-submit-hint = Podrás enviarlo cuando hayas hecho todos los pasos.
precheckin-missing = Aún falta:
precheckin-done = Hecho
precheckin-to-do = Pendiente
precheckin-with-host = Con tu anfitrión
precheckin-needs-you = Te toca a ti
precheckin-did-not-work = No ha funcionado
precheckin-sent-back = Revisa este paso de nuevo
precheckin-sent-back-message = Una nota de tu anfitrión:
precheckin-status = Estado
precheckin-not-started = Sin empezar
precheckin-in-progress = En curso
precheckin-in-review = En revisión
precheckin-changes-requested = Cambios solicitados
precheckin-approved = Aprobado
precheckin-outcome-in-review = Has enviado tu pre-check-in. Tu anfitrión lo está revisando.
precheckin-outcome-approved = Tu pre-check-in está completo. No te queda nada por hacer.
precheckin-outcome-changes = Tu anfitrión te pide que cambies algo. Revisa los pasos marcados y vuelve a enviarlo.
precheckin-outcome-new = Hay algo nuevo desde que lo enviaste. Completa los pasos marcados y vuelve a enviarlo.

fields-first-name = Nombre
fields-last-name = Apellidos
fields-second-last-name = Segundo apellido
fields-email = Correo electrónico
fields-phone = Teléfono
fields-birth-date = Fecha de nacimiento
fields-gender = Sexo
fields-nationality = Nacionalidad
fields-document-type = Tipo de documento
fields-document-number = Número de documento
fields-address = Calle y número
fields-city = Localidad
fields-postal-code = Código postal
fields-country = País
fields-name-hint = Tal como figura en tu documento de identidad.
fields-either-name-hint = Basta con el nombre o los apellidos.
fields-email-hint = Donde podemos escribirte sobre tu estancia.
fields-phone-hint = Con el prefijo del país, por ejemplo +34 612 345 678.
fields-date-hint = Año, mes y día, por ejemplo 1985-03-27.
fields-document-number-hint = Tal como está impreso en el documento.
fields-nationality-hint = Las dos letras del país, por ejemplo ES.
fields-from-age = Necesario a partir de los { $n } años.
fields-up-to-age = Necesario hasta los { $n } años.
fields-some-guests = Necesario solo para algunos huéspedes.
fields-address-hint = Donde vives, no donde te alojas.
fields-female = Mujer
fields-male = Hombre
fields-unspecified = Otro o prefiero no decirlo
fields-passport = Pasaporte
fields-identity-card = Documento de identidad
fields-driving-licence = Permiso de conducir
fields-residence-permit = Permiso de residencia
fields-other-document = Otro documento
fields-guest = Huésped { $n }
fields-add-guest = Añadir otro huésped
fields-remove-guest = Quitar al huésped { $n }
fields-guests-hint = Si no viaja nadie contigo, deja este campo vacío y guarda.
fields-guests-expected = Huéspedes que faltan por indicar, sin contarte a ti: { $n }

agreement-accept = He leído y acepto este contrato.
agreement-elsewhere = Tu anfitrión te facilita el contrato por separado. Léelo antes de aceptarlo.
agreement-sign-elsewhere = Este contrato se firma con un servicio de firma. Tu anfitrión te dirá cómo.
agreement-consent = Acepto la comprobación de antecedentes.
agreement-signed-name = Tu nombre completo
agreement-signed-name-hint = Escribir aquí tu nombre equivale a tu firma.
agreement-accepted-at = Lo aceptaste el { $moment }.
agreement-text-changed = El texto ha cambiado desde que lo aceptaste. Léelo y acéptalo de nuevo.

deposit-question = ¿Cómo quieres cubrir los posibles daños?
deposit-deposit = Fianza de { $amount }
deposit-deposit-plain = Fianza
deposit-waiver = { $name }, { $price }
deposit-per-night = { $price } por noche
deposit-per-stay = { $price } por la estancia
deposit-in-total = { $amount } en total por la estancia.
deposit-due-at-submission = A pagar al enviar.
deposit-none = Sin fianza ni exención
deposit-released = { $n ->
    [0] Se libera el día de tu salida.
    [one] Se libera 1 día después de tu salida.
   *[other] Se libera { $n } días después de tu salida.
}
deposit-due = { $n ->
    [0] A pagar el día de tu llegada.
    [one] A pagar 1 día antes de tu llegada.
   *[other] A pagar { $n } días antes de tu llegada.
}
deposit-not-charged = En esta página no se cobra nada. Tu anfitrión se encarga del pago.
deposit-fees = Tasas de tu estancia
deposit-total = Total

files-choose = Elige una foto o un archivo
files-take-photo = Hacer una foto
files-upload = Subir
files-uploaded = Subido
files-remove = Quitar { $name }
files-hint = JPEG, PNG, WebP, HEIC o PDF, de hasta { $size } cada uno.
files-limit = Máximo de archivos: { $n }.
files-missing = Aún falta: { $types }
files-which = ¿Qué documento es?

progress-pending = Está en marcha. No tienes que hacer nada.
progress-action-required = Tienes algo pendiente.
progress-resume = Continuar
progress-completed = Está hecho.
progress-failed = No ha funcionado. Ponte en contacto con tu anfitrión.
progress-host-sees-to-it = Tu anfitrión se encarga del resto.
progress-document-checked = Tu anfitrión comprobará tu documento.
progress-amount = Importe: { $amount }

tiles-title = Acceso rápido
tiles-uber = Pedir un Uber
tiles-report-an-issue = Informar de un problema
tiles-find-parking = Buscar aparcamiento
tiles-find-parking-justpark = Reservar aparcamiento con JustPark
tiles-rent-baby-gear = Alquilar artículos de bebé

contact-title = Contáctanos
contact-call = Llamar
contact-whatsapp = WhatsApp
contact-text = SMS
contact-email = Correo
contact-directions = Cómo llegar
contact-messages = Mensajes
contact-map = Ver en el mapa

messages-title = Escribe a tu anfitrión
messages-label = Tu mensaje
messages-sent = Tu mensaje se ha enviado.
messages-yours = Tus mensajes
messages-sent-at = Enviado el { $moment }
messages-answers-elsewhere = Tu anfitrión te responderá por teléfono, por correo o en la web donde reservaste.

ticket-title = Informar de un problema
ticket-description = ¿Qué ha pasado?
ticket-description-hint = Si nos dices dónde y desde cuándo, lo arreglaremos antes.
ticket-sent = Gracias. Hemos avisado a tu anfitrión.
ticket-yours = Tus avisos
ticket-begun = Ya se están ocupando de esto.
ticket-done = Esto ya está resuelto.
ticket-full = Ya has enviado tantos avisos como admite esta página. Contacta con tu anfitrión por otro medio.
ticket-off = Ahora mismo no se puede informar de problemas aquí.

wifi-title = Wifi
wifi-network = Red
wifi-password = Contraseña
wifi-copy = Copiar la contraseña
wifi-copied = Copiada
wifi-scan = Escanéalo con otro teléfono para conectarte.
wifi-drawing = Código QR para conectarse a la red wifi { $name }

manuals-good-to-know = Información útil
manuals-video = Ver el vídeo
manuals-jump = Ir a
manuals-later = Más adelante
manuals-unlocks = Lo verás a partir de este momento: { $moment }.

offer-title = Una oferta para ti
offer-open = Ver la oferta
offer-review-checkin = ¿Va todo bien por ahora?
offer-review-checkout = ¿Qué tal tu estancia?
offer-review-action = Cuéntanoslo

survey-overall = En general
survey-rating-hint = 1 es malo, 5 es excelente.
survey-cleanliness = Limpieza
survey-communication = Comunicación
survey-location = Ubicación
survey-accuracy = Veracidad de la descripción
survey-value = Relación calidad-precio
survey-checkin = Llegada
survey-public-text = Tu opinión, visible para todos
survey-private-text = Solo para tu anfitrión
survey-sent = Gracias por tu opinión.

extras-title = Servicios adicionales
extras-open = Ver los servicios
extras-quantity = ¿Cuántos?
extras-number = Escribe un número entero del 0 al 99.
extras-keep = Guardar la selección
extras-request = Pedirlo
extras-kept = Tu selección está guardada. Todavía no la has pedido.
extras-requested = Hemos avisado a tu anfitrión, que te responderá.
extras-empty = Elige al menos un servicio.

preview-guest = Huésped
preview-banner = Esto es una vista previa. Ningún huésped la ve.
preview-forms = Los formularios no hacen nada aquí y no se guarda nada.
preview-moment = Fecha y hora
preview-show = Mostrar
preview-inactive = Inactivo

keep-offline = No tienes conexión. Esta página es de este momento: { $moment }.
keep-offline-forms = Necesitas conexión para enviar algo.
keep-calendar = Añadir al calendario
keep-google-calendar = Añadir a Google Calendar
keep-calendar-title = Estancia en { $property }
keep-calendar-description = Todo sobre tu estancia: { $url }
keep-wallet = Añadir a Apple Wallet
keep-privacy = Esta página no usa cookies ni te rastrea. Quien tenga su dirección puede abrirla, así que no la compartas.
keep-door-code = Código de la puerta

pages-missing = No encontramos esta estancia.
pages-missing-hint = Comprueba el enlace o pide uno nuevo a tu anfitrión.
pages-step-missing = Este paso no forma parte de tu pre-check-in o ya no es necesario.
pages-manual-missing = Esto no está disponible en este momento.
pages-busy = Se ha pedido esta página demasiadas veces en poco tiempo. Espera un minuto y vuelve a intentarlo.
pages-unavailable = Esta página no está disponible en este momento. Vuelve a intentarlo dentro de unos minutos.
pages-home = Volver a tu estancia

errors-title = Hay un problema
errors-required = Rellena este campo.
errors-one-name = Escribe un nombre o unos apellidos.
errors-choose-one = Elige una opción.
errors-email = Escribe un correo electrónico, por ejemplo nombre@example.com.
errors-phone = Escribe un teléfono con el prefijo del país, por ejemplo +34 612 345 678.
errors-date = Escribe una fecha válida.
errors-date-range = Escribe una fecha entre 1900 y hoy, con el año de cuatro cifras.
errors-too-long = Acórtalo a { $max } caracteres.
errors-accept = Marca la casilla para aceptar el contrato.
errors-sign = Escribe tu nombre completo.
errors-consent = Marca la casilla para dar tu consentimiento.
errors-file-missing = Elige un archivo.
errors-file-type = Este archivo no es JPEG, PNG, WebP, HEIC ni PDF.
errors-file-size = Este archivo es demasiado grande. El máximo es { $size }.
errors-file-count = Ya hay { $n } archivos. Quita uno primero.
errors-guests-missing = Indica a todas las personas que viajan contigo.
errors-invalid = Revisa este campo.
errors-not-saved = No se ha podido guardar. Revisa lo que has rellenado e inténtalo de nuevo.
errors-full = Es más de lo que se puede guardar para tu estancia. Acorta lo que has escrito.
errors-message = No se ha podido enviar el mensaje. No puede estar vacío ni ser demasiado largo.
errors-message-full = Ya has enviado tantos mensajes como admite esta página. Contacta con tu anfitrión por otro medio.
errors-chat-off = Tu anfitrión no recibe mensajes aquí.
errors-precheckin-off = El pre-check-in no está disponible en este momento.
errors-step-gone = Este paso ya no forma parte de tu pre-check-in.
errors-already-submitted = Tu pre-check-in ya se ha enviado.
errors-stay-over = Tu estancia ha terminado, así que aquí ya no se puede cambiar nada.
errors-not-ready = Todavía hay pasos sin hacer.
errors-uploads-off = Ahora mismo no se pueden subir archivos. Inténtalo más tarde o contacta con tu anfitrión.
errors-retry = No ha funcionado. Inténtalo de nuevo dentro de un momento.

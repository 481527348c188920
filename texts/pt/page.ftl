### The page for guests. European Portuguese, in the third person.

steps-your-details = Os seus dados
steps-identity-check = Confirme a sua identidade
steps-background-check = Verificação de antecedentes
steps-other-guests = Outros hóspedes
steps-authority-reporting = Registo de hóspedes
steps-additional-questions = Algumas perguntas
steps-document-upload = Enviar documentos
steps-agreement = Contrato de arrendamento
steps-mandatory-fee = Taxas obrigatórias
steps-damage-deposit = Caução
steps-screen-and-protect = Proteção da estadia
steps-main = Tudo pronto para o check-in

happens-identity-check = O anfitrião verifica quem fica alojado e dirá como mostrar o documento de identificação.
happens-background-check = O anfitrião manda fazer uma verificação de antecedentes com os dados da reserva.
happens-authority-reporting = O anfitrião comunica os hóspedes às autoridades, como a lei exige, e poderá pedir os dados necessários.
happens-document-upload = O anfitrião precisa de alguns documentos.
happens-mandatory-fee = A estadia tem taxas obrigatórias. O anfitrião cobra-as à parte.
happens-damage-deposit = O anfitrião pede uma caução e dirá como a pagar.
happens-screen-and-protect = Um serviço especializado verifica e protege a estadia em nome do anfitrião.
happens-main = Confirme que está tudo pronto para a sua chegada.

common-yes = Sim
common-no = Não
common-required = obrigatório
common-optional = opcional
common-choose = Escolher…
common-choose-any = Escolha todas as opções que se aplicam.
common-no-answer = Sem resposta
common-send = Enviar
common-remove = Remover
common-continue = Continuar
common-skip = Saltar para o conteúdo
common-language = Idioma
common-shortcuts = Atalhos

phase-your-stay = A sua estadia
phase-arrives-today = Hoje é o dia da chegada
phase-here-until = Fim da estadia: { $date }
phase-departure = Dia da partida
phase-leave-by = Hora limite de saída: { $time }. Boa viagem!
phase-thanks = Obrigado pela sua estadia
phase-thanks-more = Foi um prazer receber a sua visita. Volte sempre.
phase-cancelled = Esta estadia foi cancelada.
phase-cancelled-contact = Se não contava com isto, contacte-nos.
phase-tentative = A sua reserva ainda não está confirmada.
phase-check-in = Entrada
phase-check-out = Saída
phase-from-time = a partir das { $time }
phase-until-time = até às { $time }
phase-nights = { $n ->
    [one] 1 noite
   *[other] { $n } noites
}
phase-address = Morada
phase-at-the-door = À porta
phase-getting-there = Como chegar
phase-before-you-leave = Antes de sair
phase-nothing-yet = O anfitrião ainda não preparou esta página.
phase-instructions = A sua chegada, passo a passo

precheckin-title = Pré-check-in
precheckin-prompt = Preencha o pré-check-in antes de chegar.
precheckin-progress = { $done } de { $total } concluídos
precheckin-next = A seguir: { $title }
precheckin-position = Passo { $n } de { $total }
precheckin-resume = Continuar o pré-check-in
precheckin-save-and-continue = Guardar e continuar
precheckin-more = Guardado. Ainda falta preencher algo aqui.
precheckin-confirm = Confirmar
precheckin-review = Reveja as suas respostas
precheckin-review-hint = Verifique se está tudo certo e depois envie.
precheckin-change = Alterar
precheckin-change-what = Alterar { $title }
precheckin-not-answered = Sem resposta
precheckin-submit = Enviar o pré-check-in
precheckin-submit-hint = Pode enviar quando todos os passos estiverem concluídos.
precheckin-missing = Ainda falta:
precheckin-done = Feito
precheckin-to-do = Por fazer
precheckin-with-host = Com o anfitrião
precheckin-needs-you = Falta algo da sua parte
precheckin-did-not-work = Não funcionou
precheckin-sent-back = Reveja este passo
precheckin-sent-back-message = Uma nota do anfitrião:
precheckin-status = Estado
precheckin-not-started = Por começar
precheckin-in-progress = Em curso
precheckin-in-review = Em análise
precheckin-changes-requested = Alterações pedidas
precheckin-approved = Aprovado
precheckin-outcome-in-review = O pré-check-in foi enviado. O anfitrião está a analisá-lo.
precheckin-outcome-approved = O pré-check-in está completo. Não há mais nada a fazer.
precheckin-outcome-changes = O anfitrião pede uma alteração. Veja os passos assinalados abaixo e envie de novo.
precheckin-outcome-new = Há algo de novo desde o envio. Complete os passos assinalados abaixo e envie de novo.

fields-first-name = Nome próprio
fields-last-name = Apelido
fields-second-last-name = Segundo apelido
fields-email = E-mail
fields-phone = Telefone
fields-birth-date = Data de nascimento
fields-gender = Sexo
fields-nationality = Nacionalidade
fields-document-type = Tipo de documento
fields-document-number = Número do documento
fields-address = Rua e número
fields-city = Localidade
fields-postal-code = Código postal
fields-country = País
fields-name-hint = Tal como está no documento de identificação.
fields-either-name-hint = Basta o nome próprio ou o apelido.
fields-email-hint = Onde podemos contactar sobre a estadia.
fields-phone-hint = Com o indicativo do país, por exemplo +351 912 345 678.
fields-date-hint = Ano, mês e dia, por exemplo 1985-03-27.
fields-document-number-hint = Tal como está impresso no documento.
fields-nationality-hint = As duas letras do país, por exemplo ES.
fields-from-age = Necessário a partir dos { $n } anos.
fields-up-to-age = Necessário até aos { $n } anos.
fields-some-guests = Necessário apenas para alguns hóspedes.
fields-address-hint = Onde vive, não onde fica alojado.
fields-female = Feminino
fields-male = Masculino
fields-unspecified = Outro ou prefiro não dizer
fields-passport = Passaporte
fields-identity-card = Cartão de cidadão ou bilhete de identidade
fields-driving-licence = Carta de condução
fields-residence-permit = Título de residência
fields-other-document = Outro documento
fields-guest = Hóspede { $n }
fields-add-guest = Adicionar outro hóspede
fields-remove-guest = Remover o hóspede { $n }
fields-guests-hint = Se ninguém viaja consigo, deixe em branco e guarde.
fields-guests-expected = Hóspedes a indicar além de si: { $n }

agreement-accept = Li e aceito este contrato.
agreement-elsewhere = O anfitrião entrega o contrato à parte. Leia-o antes de o aceitar.
agreement-sign-elsewhere = Este contrato é assinado num serviço de assinatura. O anfitrião dirá como.
agreement-consent = Aceito a verificação de antecedentes.
agreement-signed-name = O seu nome completo
agreement-signed-name-hint = Escrever aqui o seu nome vale como assinatura.
agreement-accepted-at = Aceite por si: { $moment }.
agreement-text-changed = O texto mudou desde que o aceitou. Leia-o e aceite-o de novo.

deposit-question = Como prefere cobrir eventuais danos?
deposit-deposit = Caução de { $amount }
deposit-deposit-plain = Caução
deposit-waiver = { $name }, { $price }
deposit-per-night = { $price } por noite
deposit-per-stay = { $price } pela estadia
deposit-in-total = { $amount } no total pela estadia.
deposit-due-at-submission = A pagar no envio.
deposit-none = Sem caução nem isenção
deposit-released = { $n ->
    [0] Libertada no dia da partida.
    [one] Libertada 1 dia depois da partida.
   *[other] Libertada { $n } dias depois da partida.
}
deposit-due = { $n ->
    [0] A pagar no dia da chegada.
    [one] A pagar 1 dia antes da chegada.
   *[other] A pagar { $n } dias antes da chegada.
}
deposit-not-charged = Nesta página não se cobra nada. O anfitrião trata do pagamento.
deposit-fees = Taxas da estadia
deposit-total = Total

files-choose = Escolher uma fotografia ou um ficheiro
files-take-photo = Tirar uma fotografia
files-upload = Carregar
files-uploaded = Carregado
files-remove = Remover { $name }
files-hint = JPEG, PNG, WebP, HEIC ou PDF, até { $size } cada.
files-limit = No máximo { $n } ficheiros.
files-missing = Ainda falta: { $types }
files-which = Que documento é?

progress-pending = Está a ser tratado. Não precisa de fazer nada.
progress-action-required = Há algo que precisa de fazer.
progress-resume = Continuar
progress-completed = Está feito.
progress-failed = Não resultou. Contacte o anfitrião.
progress-host-sees-to-it = O anfitrião trata do resto.
progress-document-checked = O anfitrião vai verificar o documento.
progress-amount = Valor: { $amount }

tiles-title = Acesso rápido
tiles-uber = Pedir um Uber
tiles-report-an-issue = Comunicar um problema
tiles-find-parking = Encontrar estacionamento
tiles-find-parking-justpark = Reservar estacionamento com JustPark
tiles-rent-baby-gear = Alugar artigos de bebé

contact-title = Contacte-nos
contact-call = Ligar
contact-whatsapp = WhatsApp
contact-text = SMS
contact-email = E-mail
contact-directions = Direções
contact-messages = Mensagens
contact-map = Ver no mapa

messages-title = Escrever ao anfitrião
messages-label = A sua mensagem
messages-sent = A sua mensagem foi enviada.
messages-yours = As suas mensagens
messages-sent-at = Enviada: { $moment }
messages-answers-elsewhere = O anfitrião responde por telefone, por e-mail ou no site da reserva.

ticket-title = Comunicar um problema
ticket-description = O que aconteceu?
ticket-description-hint = Dizer onde e desde quando ajuda-nos a resolver depressa.
ticket-sent = Obrigado. O anfitrião foi avisado.
ticket-yours = Os seus avisos
ticket-begun = Já estão a tratar disto.
ticket-done = Isto já está resolvido.
ticket-full = Já comunicou tantos problemas quantos esta página aceita. Contacte o anfitrião de outra forma.
ticket-off = De momento não é possível comunicar problemas aqui.

wifi-title = Wi-Fi
wifi-network = Rede
wifi-password = Palavra-passe
wifi-copy = Copiar a palavra-passe
wifi-copied = Copiada
wifi-scan = Leia com outro telemóvel para se ligar.
wifi-drawing = Código QR para ligar à rede Wi-Fi { $name }

manuals-good-to-know = Informações úteis
manuals-video = Ver o vídeo
manuals-jump = Ir para
manuals-later = Mais tarde
manuals-unlocks = Disponível a partir de: { $moment }.

offer-title = Uma oferta para si
offer-open = Ver a oferta
offer-review-checkin = Está tudo bem até agora?
offer-review-checkout = Como correu a estadia?
offer-review-action = Conte-nos

survey-overall = No geral
survey-rating-hint = 1 é mau, 5 é excelente.
survey-cleanliness = Limpeza
survey-communication = Comunicação com o anfitrião
survey-location = Localização
survey-accuracy = Rigor da descrição
survey-value = Relação qualidade/preço
survey-checkin = Chegada
survey-public-text = A sua avaliação, visível para todos
survey-private-text = Só para o anfitrião
survey-sent = Obrigado pela sua avaliação.

extras-title = Extras da estadia
extras-open = Ver os extras
extras-quantity = Quantos?
extras-number = Indique um número inteiro de 0 a 99.
extras-keep = Guardar a seleção
extras-request = Pedir
extras-kept = A sua seleção está guardada. Ainda não a pediu.
extras-requested = O pedido foi enviado ao anfitrião, que lhe responderá.
extras-empty = Escolha pelo menos um extra.

preview-guest = Hóspede
preview-banner = Isto é uma pré-visualização. Nenhum hóspede a vê.
preview-forms = Os formulários não fazem nada aqui e nada é guardado.
preview-moment = Data e hora
preview-show = Mostrar
preview-inactive = Inativo

keep-offline = Está sem ligação. Esta página é de: { $moment }.
keep-offline-forms = Precisa de uma ligação para enviar algo.
keep-calendar = Adicionar ao calendário
keep-google-calendar = Adicionar ao Google Calendar
keep-calendar-title = Estadia: { $property }
keep-calendar-description = Tudo sobre a sua estadia: { $url }
keep-wallet = Adicionar à Apple Wallet
keep-privacy = Esta página não usa cookies nem segue quem a visita. Quem tiver o endereço pode abri-la, por isso guarde o endereço para si.
keep-door-code = Código da porta

pages-missing = Não encontramos esta estadia.
pages-missing-hint = Verifique a ligação ou peça uma nova ao anfitrião.
pages-step-missing = Este passo não faz, ou já não faz, parte do pré-check-in.
pages-manual-missing = De momento não está disponível.
pages-busy = Esta página foi pedida demasiadas vezes em pouco tempo. Espere um minuto e tente de novo.
pages-unavailable = De momento esta página não está disponível. Tente de novo daqui a alguns minutos.
pages-home = Voltar à sua estadia

errors-title = Há um problema
errors-required = Preencha este campo.
errors-one-name = Indique um nome próprio ou um apelido.
errors-choose-one = Escolha uma opção.
errors-email = Introduza um e-mail, por exemplo nome@example.com.
errors-phone = Introduza um telefone com o indicativo do país, por exemplo +351 912 345 678.
errors-date = Introduza uma data válida.
errors-date-range = Introduza uma data entre 1900 e hoje, com o ano de quatro algarismos.
errors-too-long = Reduza o texto a { $max } caracteres.
errors-accept = Assinale a caixa para aceitar o contrato.
errors-sign = Escreva o seu nome completo.
errors-consent = Assinale a caixa para dar o seu consentimento.
errors-file-missing = Escolha um ficheiro.
errors-file-type = Este ficheiro não é JPEG, PNG, WebP, HEIC nem PDF.
errors-file-size = Este ficheiro é demasiado grande. O máximo é { $size }.
errors-file-count = Já há { $n } ficheiros. Remova um primeiro.
errors-guests-missing = Indique todas as pessoas que viajam consigo.
errors-invalid = Verifique este campo.
errors-not-saved = Não foi possível guardar. Verifique o que preencheu e tente de novo.
errors-full = É mais do que se pode guardar para a estadia. Reduza o que escreveu.
errors-message = Não foi possível enviar a mensagem. Não pode estar vazia nem ser demasiado longa.
errors-message-full = Já enviou tantas mensagens quantas esta página aceita. Contacte o anfitrião de outra forma.
errors-chat-off = O anfitrião não recebe mensagens aqui.
errors-precheckin-off = De momento o pré-check-in não está disponível.
errors-step-gone = Este passo já não faz parte do pré-check-in.
errors-already-submitted = O pré-check-in já foi enviado.
errors-stay-over = A sua estadia terminou, por isso aqui já nada pode ser alterado.
errors-not-ready = Ainda há passos por concluir.
errors-uploads-off = De momento não é possível receber ficheiros. Tente mais tarde ou contacte o anfitrião.
errors-retry = Não resultou. Tente de novo dentro de momentos.

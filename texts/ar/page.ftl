### The page for guests. Arabic, in a polite form.

steps-your-details = بياناتك
steps-identity-check = التحقق من الهوية
steps-background-check = التحقق من السجل
steps-other-guests = ضيوف آخرون
steps-authority-reporting = تسجيل الضيوف
steps-additional-questions = بعض الأسئلة
steps-document-upload = رفع المستندات
steps-agreement = عقد الإيجار
steps-mandatory-fee = الرسوم الإلزامية
steps-damage-deposit = مبلغ التأمين
steps-screen-and-protect = حماية الإقامة
steps-main = جاهز لتسجيل الوصول

happens-identity-check = يتحقق المضيف من هوية المقيمين، وسيوضح لك كيفية إبراز وثيقة الهوية.
happens-background-check = يجري المضيف تحققًا من السجل استنادًا إلى بيانات الحجز.
happens-authority-reporting = يسجل المضيف جميع الضيوف لدى السلطات كما يقتضي القانون، وقد يطلب منك البيانات اللازمة.
happens-document-upload = يحتاج المضيف إلى بعض المستندات منك.
happens-mandatory-fee = تشمل إقامتك رسومًا إلزامية يحصّلها المضيف على حدة.
happens-damage-deposit = يطلب المضيف مبلغ تأمين، وسيوضح لك كيفية دفعه.
happens-screen-and-protect = تتولى خدمة متخصصة التحقق من إقامتك وحمايتها نيابةً عن المضيف.
happens-main = يرجى تأكيد أن كل شيء جاهز لوصولك.

common-yes = نعم
common-no = لا
common-required = إلزامي
common-optional = اختياري
common-choose = يرجى الاختيار…
common-choose-any = يرجى اختيار كل ما ينطبق.
common-no-answer = بدون إجابة
common-send = إرسال
common-remove = إزالة
common-continue = متابعة
common-skip = الانتقال إلى المحتوى
common-language = اللغة
common-shortcuts = اختصارات

phase-your-stay = إقامتك
phase-arrives-today = اليوم موعد وصولك
phase-here-until = إقامتك هنا حتى { $date }
phase-departure = يوم المغادرة
phase-leave-by = يرجى المغادرة قبل الساعة { $time }. رحلة سعيدة!
phase-thanks = شكرًا على إقامتك
phase-thanks-more = سعدنا باستضافتك، ويسرّنا الترحيب بك مرة أخرى.
phase-cancelled = أُلغيت هذه الإقامة.
phase-cancelled-contact = إذا لم يكن ذلك متوقعًا، يرجى التواصل معنا.
phase-tentative = لم يتم تأكيد حجزك بعد.
phase-check-in = تسجيل الوصول
phase-check-out = تسجيل المغادرة
phase-from-time = من الساعة { $time }
phase-until-time = حتى الساعة { $time }
phase-nights = { $n ->
    [one] ليلة واحدة
   *[other] عدد الليالي: { $n }
}
phase-address = العنوان
phase-at-the-door = عند الباب
phase-getting-there = الطريق إلى السكن
phase-before-you-leave = قبل المغادرة
phase-nothing-yet = لم يُعدّ المضيف هذه الصفحة بعد.
phase-instructions = وصولك خطوة بخطوة

precheckin-title = التسجيل المسبق
precheckin-prompt = يرجى إكمال التسجيل المسبق قبل وصولك.
precheckin-progress = اكتمل { $done } من { $total }
precheckin-next = التالي: { $title }
precheckin-position = الخطوة { $n } من { $total }
precheckin-resume = متابعة التسجيل المسبق
precheckin-save-and-continue = حفظ ومتابعة
precheckin-more = تم الحفظ. ما زال هناك ما يجب إكماله هنا.
precheckin-confirm = تأكيد
precheckin-review = مراجعة إجاباتك
precheckin-review-hint = يرجى التأكد من صحة كل شيء ثم الإرسال.
precheckin-change = تغيير
precheckin-change-what = تغيير { $title }
precheckin-not-answered = بدون إجابة
precheckin-submit = إرسال التسجيل المسبق
precheckin-submit-hint = يمكنك الإرسال بعد اكتمال جميع الخطوات.
precheckin-missing = ما زال ناقصًا:
precheckin-done = تم
precheckin-to-do = لم يكتمل
precheckin-with-host = لدى المضيف
precheckin-needs-you = بانتظارك
precheckin-did-not-work = لم تنجح
precheckin-sent-back = يرجى مراجعة هذه الخطوة
precheckin-sent-back-message = ملاحظة من المضيف:
precheckin-status = الحالة
precheckin-not-started = لم يبدأ
precheckin-in-progress = قيد الإكمال
precheckin-in-review = قيد المراجعة
precheckin-changes-requested = مطلوب تعديلات
precheckin-approved = تمت الموافقة
precheckin-outcome-in-review = أُرسل التسجيل المسبق، والمضيف يراجعه الآن.
precheckin-outcome-approved = اكتمل التسجيل المسبق. لم يبقَ شيء عليك فعله.
precheckin-outcome-changes = يطلب المضيف تعديلًا. يرجى مراجعة الخطوات المحددة أدناه ثم الإرسال مرة أخرى.
precheckin-outcome-new = هناك جديد منذ الإرسال. يرجى إكمال الخطوات المحددة أدناه ثم الإرسال مرة أخرى.

fields-first-name = الاسم الأول
fields-last-name = اسم العائلة
fields-second-last-name = اسم العائلة الثاني
fields-email = البريد الإلكتروني
fields-phone = الهاتف
fields-birth-date = تاريخ الميلاد
fields-gender = الجنس
fields-nationality = الجنسية
fields-document-type = نوع الوثيقة
fields-document-number = رقم الوثيقة
fields-address = الشارع ورقم المبنى
fields-city = المدينة
fields-postal-code = الرمز البريدي
fields-country = البلد
fields-name-hint = كما هو مكتوب في وثيقة الهوية.
fields-either-name-hint = يكفي الاسم الأول أو اسم العائلة.
fields-email-hint = حيث يمكننا التواصل معك بشأن إقامتك.
fields-phone-hint = مع رمز البلد، مثل ‎+971 50 123 4567.
fields-date-hint = السنة والشهر واليوم، مثل ‎1985-03-27.
fields-document-number-hint = كما هو مطبوع على الوثيقة.
fields-nationality-hint = الحرفان الدالان على البلد، مثل ES.
fields-from-age = مطلوب ابتداءً من سن { $n }.
fields-up-to-age = مطلوب حتى سن { $n }.
fields-some-guests = مطلوب لبعض الضيوف فقط.
fields-address-hint = حيث تسكن عادةً، وليس مكان هذه الإقامة.
fields-female = أنثى
fields-male = ذكر
fields-unspecified = آخر أو أفضّل عدم الإفصاح
fields-passport = جواز سفر
fields-identity-card = بطاقة هوية
fields-driving-licence = رخصة قيادة
fields-residence-permit = تصريح إقامة
fields-other-document = وثيقة أخرى
fields-guest = الضيف { $n }
fields-add-guest = إضافة ضيف آخر
fields-remove-guest = إزالة الضيف { $n }
fields-guests-hint = إذا لم يكن أحد مسافرًا معك، فاترك هذا الحقل فارغًا ثم احفظ.
fields-guests-expected = عدد الضيوف المطلوب ذكرهم غيرك: { $n }

agreement-accept = قرأت هذا العقد وأوافق عليه.
agreement-elsewhere = يقدّم لك المضيف العقد على حدة. يرجى قراءته قبل الموافقة.
agreement-sign-elsewhere = يُوقَّع هذا العقد عبر خدمة توقيع. سيخبرك المضيف بالطريقة.
agreement-consent = أوافق على التحقق من السوابق.
agreement-signed-name = اسمك الكامل
agreement-signed-name-hint = كتابة اسمك هنا بمثابة توقيعك.
agreement-accepted-at = وافقت على هذا في { $moment }.
agreement-text-changed = تغيّر النص منذ أن وافقت عليه. يرجى قراءته والموافقة عليه مرة أخرى.

deposit-question = كيف تفضّل تغطية الأضرار المحتملة؟
deposit-deposit = مبلغ تأمين قدره { $amount }
deposit-deposit-plain = مبلغ التأمين
deposit-waiver = { $name }، { $price }
deposit-per-night = { $price } لكل ليلة
deposit-per-stay = { $price } للإقامة كلها
deposit-in-total = الإجمالي لإقامتك: { $amount }.
deposit-due-at-submission = يُستحق عند الإرسال.
deposit-none = بدون مبلغ تأمين أو إعفاء
deposit-released = { $n ->
    [0] يُفرج عنه يوم مغادرتك.
    [one] يُفرج عنه بعد يوم واحد من مغادرتك.
   *[other] عدد الأيام بعد مغادرتك حتى يُفرج عنه: { $n }.
}
deposit-due = { $n ->
    [0] يُستحق يوم وصولك.
    [one] يُستحق قبل وصولك بيوم واحد.
   *[other] عدد الأيام قبل وصولك التي يُستحق فيها: { $n }.
}
deposit-not-charged = لا يُحصَّل أي مبلغ في هذه الصفحة. يتولى المضيف أمر الدفع.
deposit-fees = رسوم إقامتك
deposit-total = الإجمالي

files-choose = اختيار صورة أو ملف
files-take-photo = التقاط صورة
files-upload = رفع
files-uploaded = تم رفعه
files-remove = إزالة { $name }
files-hint = JPEG أو PNG أو WebP أو HEIC أو PDF، بحد أقصى { $size } لكل ملف.
files-limit = الحد الأقصى لعدد الملفات: { $n }.
files-missing = ما زال مطلوبًا: { $types }
files-which = ما الوثيقة الظاهرة؟

progress-pending = العمل جارٍ على ذلك. لا شيء عليك فعله.
progress-action-required = هناك ما يجب عليك فعله.
progress-resume = متابعة
progress-completed = تم ذلك.
progress-failed = لم ينجح ذلك. يرجى التواصل مع المضيف.
progress-host-sees-to-it = يتولى المضيف الباقي.
progress-document-checked = سيتحقق المضيف من مستندك.
progress-amount = المبلغ: { $amount }

tiles-title = وصول سريع
tiles-uber = طلب سيارة أوبر
tiles-report-an-issue = الإبلاغ عن مشكلة
tiles-find-parking = البحث عن موقف سيارات
tiles-find-parking-justpark = حجز موقف سيارات عبر JustPark
tiles-rent-baby-gear = استئجار مستلزمات الأطفال

contact-title = تواصل معنا
contact-call = اتصال
contact-whatsapp = واتساب
contact-text = رسالة نصية
contact-email = بريد إلكتروني
contact-directions = الاتجاهات
contact-messages = الرسائل
contact-map = العرض على الخريطة

messages-title = رسالة إلى المضيف
messages-label = رسالتك
messages-sent = تم إرسال رسالتك.
messages-yours = رسائلك
messages-sent-at = أُرسلت في { $moment }
messages-answers-elsewhere = يجيبك المضيف عبر الهاتف أو البريد الإلكتروني أو موقع الحجز.

ticket-title = الإبلاغ عن مشكلة
ticket-description = ماذا حدث؟
ticket-description-hint = ذكر المكان ووقت حدوث المشكلة يساعدنا على حلها بسرعة.
ticket-sent = شكرًا لك. تم إبلاغ المضيف.
ticket-yours = بلاغاتك
ticket-begun = يجري العمل على هذا.
ticket-done = تمت معالجة هذا.
ticket-full = بلغت الحد الأقصى للبلاغات في هذه الصفحة. يرجى التواصل مع المضيف بطريقة أخرى.
ticket-off = لا يمكن الإبلاغ عن المشكلات هنا حاليًا.

wifi-title = واي فاي
wifi-network = الشبكة
wifi-password = كلمة المرور
wifi-copy = نسخ كلمة المرور
wifi-copied = تم النسخ
wifi-scan = امسح الرمز بهاتف آخر للاتصال بالشبكة.
wifi-drawing = رمز QR للاتصال بشبكة الواي فاي { $name }

manuals-good-to-know = معلومات مفيدة
manuals-video = مشاهدة الفيديو
manuals-jump = الانتقال إلى
manuals-later = لاحقًا
manuals-unlocks = سيظهر لك هذا ابتداءً من { $moment }.

offer-title = عرض لك
offer-open = مشاهدة العرض
offer-review-checkin = هل كل شيء على ما يرام حتى الآن؟
offer-review-checkout = كيف كانت إقامتك؟
offer-review-action = أخبرنا

survey-overall = بشكل عام
survey-rating-hint = 1 ضعيف، و5 ممتاز.
survey-cleanliness = النظافة
survey-communication = التواصل
survey-location = الموقع
survey-accuracy = دقة الوصف
survey-value = القيمة مقابل السعر
survey-checkin = الوصول
survey-public-text = تقييمك، ويظهر للجميع
survey-private-text = للمضيف وحده
survey-sent = شكرًا على تقييمك.

extras-title = خدمات إضافية
extras-open = عرض الخدمات
extras-quantity = ما العدد؟
extras-number = يرجى إدخال عدد صحيح من 0 إلى 99.
extras-keep = حفظ الاختيار
extras-request = طلب
extras-kept = تم حفظ اختيارك، ولم تُرسل الطلب بعد.
extras-requested = تم إرسال الطلب إلى المضيف، وسيتواصل معك.
extras-empty = يرجى اختيار خدمة واحدة على الأقل.

preview-guest = ضيف
preview-banner = هذه معاينة لا يراها أي ضيف.
preview-forms = النماذج هنا لا تعمل، ولا يُحفظ أي شيء.
preview-moment = التاريخ والوقت
preview-show = عرض
preview-inactive = غير نشط

keep-offline = لا يوجد اتصال بالإنترنت. هذه الصفحة بتاريخ { $moment }.
keep-offline-forms = يلزم الاتصال بالإنترنت لإرسال أي شيء.
keep-calendar = إضافة إلى التقويم
keep-google-calendar = أضِف إلى تقويم Google
keep-calendar-title = الإقامة في { $property }
keep-calendar-description = كل شيء عن إقامتك: { $url }
keep-wallet = إضافة إلى Apple Wallet
keep-privacy = لا تستخدم هذه الصفحة ملفات تعريف الارتباط ولا تتعقبك. يمكن لكل من لديه عنوانها فتحها، فاحتفظ به لنفسك.
keep-door-code = رمز الباب

pages-missing = لم نعثر على هذه الإقامة.
pages-missing-hint = يرجى التحقق من الرابط أو طلب رابط جديد من المضيف.
pages-step-missing = هذه الخطوة ليست جزءًا من تسجيلك المسبق أو لم تعد كذلك.
pages-manual-missing = هذا غير متاح حاليًا.
pages-busy = طُلبت هذه الصفحة مرات كثيرة في وقت قصير. يرجى الانتظار دقيقة ثم المحاولة مرة أخرى.
pages-unavailable = هذه الصفحة غير متاحة حاليًا. يرجى المحاولة مرة أخرى بعد بضع دقائق.
pages-home = العودة إلى إقامتك

errors-title = هناك مشكلة
errors-required = يرجى تعبئة هذا الحقل.
errors-one-name = يرجى كتابة الاسم الأول أو اسم العائلة.
errors-choose-one = يرجى اختيار خيار واحد.
errors-email = يرجى إدخال بريد إلكتروني، مثل name@example.com.
errors-phone = يرجى إدخال رقم هاتف مع رمز البلد، مثل ‎+971 50 123 4567.
errors-date = يرجى إدخال تاريخ صحيح.
errors-date-range = يرجى إدخال تاريخ بين عام 1900 واليوم، مع كتابة السنة بأربعة أرقام.
errors-too-long = يرجى اختصار النص، والحد الأقصى لعدد الأحرف: { $max }.
errors-accept = يرجى تحديد المربع للموافقة على العقد.
errors-sign = يرجى كتابة اسمك الكامل.
errors-consent = يرجى تحديد المربع للموافقة على التحقق.
errors-file-missing = يرجى اختيار ملف.
errors-file-type = هذا الملف ليس JPEG أو PNG أو WebP أو HEIC أو PDF.
errors-file-size = هذا الملف كبير جدًا. الحد الأقصى { $size }.
errors-file-count = بلغ عدد الملفات { $n }. يرجى إزالة أحدها أولًا.
errors-guests-missing = يرجى ذكر جميع المسافرين معك.
errors-invalid = يرجى التحقق من هذا الحقل.
errors-not-saved = تعذّر الحفظ. يرجى التحقق مما كتبته والمحاولة مرة أخرى.
errors-full = هذا أكثر مما يمكن حفظه لإقامتك. يرجى اختصار ما كتبته.
errors-message = تعذّر إرسال الرسالة. يجب ألا تكون فارغة ولا طويلة جدًا.
errors-message-full = بلغت الحد الأقصى للرسائل في هذه الصفحة. يرجى التواصل مع المضيف بطريقة أخرى.
errors-chat-off = لا يستقبل المضيف الرسائل هنا.
errors-precheckin-off = التسجيل المسبق غير متاح حاليًا.
errors-step-gone = لم تعد هذه الخطوة جزءًا من تسجيلك المسبق.
errors-already-submitted = سبق إرسال التسجيل المسبق.
errors-stay-over = انتهت إقامتك، ولم يعد من الممكن تغيير أي شيء هنا.
errors-not-ready = بعض الخطوات لم تكتمل بعد.
errors-uploads-off = لا يمكن استقبال الملفات حاليًا. يرجى المحاولة لاحقًا أو التواصل مع المضيف.
errors-retry = لم ينجح ذلك. يرجى المحاولة مرة أخرى بعد لحظات.

### The page for guests. Hebrew, in the plural, which addresses everybody.

steps-your-details = הפרטים שלכם
steps-identity-check = אימות זהות
steps-background-check = בדיקת רקע
steps-other-guests = אורחים נוספים
steps-authority-reporting = רישום אורחים
steps-additional-questions = כמה שאלות
steps-document-upload = העלאת מסמכים
steps-agreement = הסכם שכירות
steps-mandatory-fee = תשלומי חובה
steps-damage-deposit = פיקדון
steps-screen-and-protect = הגנה על השהות
steps-main = הכול מוכן לצ׳ק-אין

happens-identity-check = המארחים בודקים מי מתארח, ויסבירו לכם איך להציג תעודה מזהה.
happens-background-check = המארחים מבצעים בדיקת רקע לפי פרטי ההזמנה.
happens-authority-reporting = המארחים רושמים את כל האורחים אצל הרשויות, כנדרש בחוק, וייתכן שיבקשו מכם פרטים.
happens-document-upload = המארחים צריכים מכם כמה מסמכים.
happens-mandatory-fee = השהות כוללת תשלומי חובה. המארחים גובים אותם בנפרד.
happens-damage-deposit = המארחים מבקשים פיקדון, ויסבירו לכם איך לשלם אותו.
happens-screen-and-protect = שירות ייעודי בודק את השהות ומגן עליה מטעם המארחים.
happens-main = נא לאשר שהכול מוכן לקראת ההגעה.

common-yes = כן
common-no = לא
common-required = חובה
common-optional = לא חובה
common-choose = נא לבחור…
common-choose-any = נא לסמן את כל התשובות המתאימות.
common-no-answer = ללא תשובה
common-send = שליחה
common-remove = הסרה
common-continue = המשך
common-skip = דילוג לתוכן
common-language = שפה
common-shortcuts = קיצורי דרך

phase-your-stay = השהות שלכם
phase-arrives-today = היום אתם מגיעים
phase-here-until = אתם כאן עד { $date }
phase-departure = יום העזיבה
phase-leave-by = נא לעזוב עד השעה { $time }. נסיעה טובה!
phase-thanks = תודה שהתארחתם
phase-thanks-more = היה לנו תענוג לארח אתכם. נשמח לראותכם שוב.
phase-cancelled = השהות הזו בוטלה.
phase-cancelled-contact = אם לא ציפיתם לכך, נא ליצור איתנו קשר.
phase-tentative = ההזמנה שלכם עדיין לא אושרה.
phase-check-in = צ׳ק-אין
phase-check-out = צ׳ק-אאוט
phase-from-time = מהשעה { $time }
phase-until-time = עד השעה { $time }
phase-nights = { $n ->
    [one] לילה אחד
   *[other] { $n } לילות
}
phase-address = כתובת
phase-at-the-door = ליד הדלת
phase-getting-there = דרכי הגעה
phase-before-you-leave = לפני שעוזבים
phase-nothing-yet = המארחים עדיין לא הכינו את העמוד הזה.
phase-instructions = ההגעה שלכם, צעד אחר צעד

precheckin-title = צ׳ק-אין מראש
precheckin-prompt = נא להשלים את הצ׳ק-אין מראש לפני ההגעה.
precheckin-progress = הושלמו { $done } מתוך { $total }
precheckin-next = הבא בתור: { $title }
precheckin-position = שלב { $n } מתוך { $total }
precheckin-resume = המשך הצ׳ק-אין מראש
precheckin-save-and-continue = שמירה והמשך
precheckin-more = נשמר. עדיין יש כאן מה להשלים.
precheckin-confirm = אישור
precheckin-review = בדיקת התשובות
precheckin-review-hint = נא לבדוק שהכול נכון ואז לשלוח.
precheckin-change = שינוי
precheckin-change-what = שינוי: { $title }
precheckin-not-answered = לא נענה
precheckin-submit = שליחת הצ׳ק-אין מראש
precheckin-submit-hint = אפשר לשלוח אחרי שכל השלבים הושלמו.
precheckin-missing = עדיין חסר:
precheckin-done = הושלם
precheckin-to-do = טרם הושלם
precheckin-with-host = אצל המארחים
precheckin-needs-you = מחכה לכם
precheckin-did-not-work = לא הצליח
precheckin-sent-back = נא לבדוק שוב
precheckin-sent-back-message = הודעה מהמארחים:
precheckin-status = מצב
precheckin-not-started = טרם התחיל
precheckin-in-progress = בתהליך
precheckin-in-review = בבדיקה
precheckin-changes-requested = נדרשים שינויים
precheckin-approved = אושר
precheckin-outcome-in-review = הצ׳ק-אין מראש נשלח, והמארחים בודקים אותו.
precheckin-outcome-approved = הצ׳ק-אין מראש הושלם. לא נותר מה לעשות.
precheckin-outcome-changes = המארחים מבקשים שינוי. נא לבדוק את השלבים המסומנים למטה ולשלוח שוב.
precheckin-outcome-new = יש משהו חדש מאז ששלחתם. נא להשלים את השלבים המסומנים למטה ולשלוח שוב.

fields-first-name = שם פרטי
fields-last-name = שם משפחה
fields-second-last-name = שם משפחה שני
fields-email = דוא״ל
fields-phone = טלפון
fields-birth-date = תאריך לידה
fields-gender = מין
fields-nationality = אזרחות
fields-document-type = סוג המסמך
fields-document-number = מספר המסמך
fields-address = רחוב ומספר
fields-city = עיר
fields-postal-code = מיקוד
fields-country = מדינה
fields-name-hint = כפי שהוא כתוב בתעודה המזהה.
fields-either-name-hint = מספיק שם פרטי או שם משפחה.
fields-email-hint = לשם נוכל לפנות אליכם בנוגע לשהות.
fields-phone-hint = עם קידומת המדינה, למשל ‎+972 50 123 4567.
fields-date-hint = שנה, חודש ויום, למשל ‎1985-03-27.
fields-document-number-hint = כפי שהוא מודפס על המסמך.
fields-nationality-hint = שתי האותיות של המדינה, למשל ES.
fields-from-age = נדרש מגיל { $n }.
fields-up-to-age = נדרש עד גיל { $n }.
fields-some-guests = נדרש רק מחלק מהאורחים.
fields-address-hint = היכן אתם גרים, לא היכן אתם מתארחים.
fields-female = נקבה
fields-male = זכר
fields-unspecified = אחר או מעדיפים לא לציין
fields-passport = דרכון
fields-identity-card = תעודת זהות
fields-driving-licence = רישיון נהיגה
fields-residence-permit = אישור שהייה
fields-other-document = מסמך אחר
fields-guest = אורח { $n }
fields-add-guest = הוספת אורח
fields-remove-guest = הסרת אורח { $n }
fields-guests-hint = אם אף אחד לא נוסע איתכם, נא להשאיר ריק ולשמור.
fields-guests-expected = מספר האורחים שיש לציין מלבדכם: { $n }

agreement-accept = קראתי את ההסכם והוא מקובל עליי.
agreement-elsewhere = המארחים מוסרים לכם את ההסכם בנפרד. נא לקרוא אותו לפני האישור.
agreement-sign-elsewhere = על ההסכם הזה חותמים בשירות חתימה. המארחים יסבירו איך.
agreement-consent = בדיקת הרקע מקובלת עליי.
agreement-signed-name = שמכם המלא
agreement-signed-name-hint = כתיבת השם כאן נחשבת לחתימה.
agreement-accepted-at = אישרתם זאת: { $moment }.
agreement-text-changed = הנוסח השתנה מאז שאישרתם אותו. נא לקרוא אותו ולאשר שוב.

deposit-question = איך תרצו לכסות נזק אפשרי?
deposit-deposit = פיקדון בסך { $amount }
deposit-deposit-plain = פיקדון
deposit-waiver = { $name }, { $price }
deposit-per-night = { $price } ללילה
deposit-per-stay = { $price } לכל השהות
deposit-in-total = סה״כ { $amount } לכל השהות.
deposit-due-at-submission = לתשלום בעת השליחה.
deposit-none = ללא פיקדון וללא ויתור
deposit-released = { $n ->
    [0] משוחרר ביום העזיבה.
    [one] משוחרר יום אחד אחרי העזיבה.
   *[other] משוחרר { $n } ימים אחרי העזיבה.
}
deposit-due = { $n ->
    [0] לתשלום ביום ההגעה.
    [one] לתשלום יום אחד לפני ההגעה.
   *[other] לתשלום { $n } ימים לפני ההגעה.
}
deposit-not-charged = בעמוד זה לא נגבה כסף. המארחים מטפלים בתשלום.
deposit-fees = תשלומים עבור השהות
deposit-total = סה״כ

files-choose = בחירת תמונה או קובץ
files-take-photo = צילום תמונה
files-upload = העלאה
files-uploaded = הועלה
files-remove = הסרת { $name }
files-hint = JPEG, PNG, WebP, HEIC או PDF, עד { $size } לקובץ.
files-limit = לכל היותר { $n } קבצים.
files-missing = עדיין חסר: { $types }
files-which = מה רואים במסמך?

progress-pending = הדבר בטיפול. אין צורך לעשות דבר.
progress-action-required = יש משהו שעליכם לעשות.
progress-resume = המשך
progress-completed = הושלם.
progress-failed = זה לא הצליח. נא לפנות למארחים.
progress-host-sees-to-it = המארחים מטפלים בכל השאר.
progress-document-checked = המארחים יבדקו את המסמך.
progress-amount = סכום: { $amount }

tiles-title = גישה מהירה
tiles-uber = הזמנת Uber
tiles-report-an-issue = דיווח על תקלה
tiles-find-parking = חיפוש חניה
tiles-find-parking-justpark = הזמנת חניה ב-JustPark
tiles-rent-baby-gear = השכרת ציוד לתינוקות

contact-title = יצירת קשר
contact-call = שיחה
contact-whatsapp = WhatsApp
contact-text = הודעת טקסט
contact-email = דוא״ל
contact-directions = הוראות הגעה
contact-messages = הודעות
contact-map = הצגה במפה

messages-title = הודעה למארחים
messages-label = ההודעה שלכם
messages-sent = ההודעה נשלחה.
messages-yours = ההודעות שלכם
messages-sent-at = נשלח: { $moment }
messages-answers-elsewhere = המארחים יענו בטלפון, בדוא״ל או באתר ההזמנות.

ticket-title = דיווח על תקלה
ticket-description = מה קרה?
ticket-description-hint = ציון המקום והזמן יעזור לנו לטפל בזה מהר.
ticket-sent = תודה. המארחים קיבלו את הדיווח.
ticket-yours = הדיווחים שלכם
ticket-begun = מישהו מטפל בזה.
ticket-done = זה טופל.
ticket-full = דיווחתם על מספר התקלות המרבי בעמוד זה. נא לפנות למארחים בדרך אחרת.
ticket-off = אי אפשר לדווח כאן על תקלות כרגע.

wifi-title = Wi-Fi
wifi-network = רשת
wifi-password = סיסמה
wifi-copy = העתקת הסיסמה
wifi-copied = הועתק
wifi-scan = אפשר לסרוק בטלפון אחר כדי להתחבר.
wifi-drawing = קוד QR להתחברות לרשת ה-Wi-Fi‏ { $name }

manuals-good-to-know = כדאי לדעת
manuals-video = צפייה בסרטון
manuals-jump = מעבר אל
manuals-later = בהמשך
manuals-unlocks = תראו זאת החל מ{ $moment }.

offer-title = הצעה בשבילכם
offer-open = להצעה
offer-review-checkin = הכול בסדר עד כה?
offer-review-checkout = איך הייתה השהות?
offer-review-action = ספרו לנו

survey-overall = באופן כללי
survey-rating-hint = 1 גרוע, 5 מצוין.
survey-cleanliness = ניקיון
survey-communication = תקשורת
survey-location = מיקום
survey-accuracy = דיוק התיאור
survey-value = תמורה למחיר
survey-checkin = הגעה
survey-public-text = הביקורת שלכם, גלויה לכולם
survey-private-text = רק למארחים
survey-sent = תודה על הביקורת.

extras-title = תוספות
extras-open = לצפייה בתוספות
extras-quantity = כמה?
extras-number = נא להזין מספר שלם מ-0 עד 99.
extras-keep = שמירת הבחירה
extras-request = בקשה
extras-kept = הבחירה שלכם נשמרה. עדיין לא ביקשתם אותה.
extras-requested = הבקשה נשלחה למארחים, והם יחזרו אליכם.
extras-empty = נא לבחור לפחות תוספת אחת.

preview-guest = אורח
preview-banner = זוהי תצוגה מקדימה. אף אורח לא רואה אותה.
preview-forms = הטפסים כאן אינם פעילים ודבר אינו נשמר.
preview-moment = תאריך ושעה
preview-show = הצגה
preview-inactive = לא פעיל

keep-offline = אתם במצב לא מקוון. העמוד נכון ל: { $moment }.
keep-offline-forms = נדרש חיבור לאינטרנט כדי לשלוח.
keep-calendar = הוספה ליומן
keep-google-calendar = הוספה ליומן Google
keep-calendar-title = שהות: { $property }
keep-calendar-description = הכול על השהות שלכם: { $url }
keep-wallet = הוספה ל-Apple Wallet
keep-privacy = העמוד אינו משתמש בעוגיות ואינו עוקב אחריכם. כל מי שיש לו הכתובת יכול לפתוח אותו, לכן שמרו אותה לעצמכם.
keep-door-code = קוד הדלת

pages-missing = לא מצאנו את השהות הזו.
pages-missing-hint = נא לבדוק את הקישור או לבקש קישור חדש מהמארחים.
pages-step-missing = השלב הזה אינו חלק מהצ׳ק-אין מראש, או כבר לא.
pages-manual-missing = זה לא זמין כרגע.
pages-busy = העמוד התבקש יותר מדי פעמים בזמן קצר. נא להמתין דקה ולנסות שוב.
pages-unavailable = העמוד לא זמין כרגע. נא לנסות שוב בעוד כמה דקות.
pages-home = חזרה לשהות שלכם

errors-title = יש בעיה
errors-required = נא למלא את השדה.
errors-one-name = נא למלא שם פרטי או שם משפחה.
errors-choose-one = נא לבחור אפשרות אחת.
errors-email = נא להזין כתובת דוא״ל, למשל name@example.com.
errors-phone = נא להזין מספר טלפון עם קידומת המדינה, למשל ‎+972 50 123 4567.
errors-date = נא להזין תאריך תקין.
errors-date-range = נא להזין תאריך בין 1900 להיום, עם שנה בת ארבע ספרות.
errors-too-long = נא לקצר ל-{ $max } תווים.
errors-accept = נא לסמן את התיבה כדי לאשר את ההסכם.
errors-sign = נא לכתוב את השם המלא.
errors-consent = נא לסמן את התיבה כדי להסכים.
errors-file-missing = נא לבחור קובץ.
errors-file-type = הקובץ אינו JPEG, PNG, WebP, HEIC או PDF.
errors-file-size = הקובץ גדול מדי. הגודל המרבי הוא { $size }.
errors-file-count = כבר יש { $n } קבצים. נא להסיר אחד קודם.
errors-guests-missing = נא לציין את כל מי שנוסע איתכם.
errors-invalid = נא לבדוק את השדה.
errors-not-saved = לא ניתן היה לשמור. נא לבדוק את מה שמילאתם ולנסות שוב.
errors-full = זה יותר ממה שאפשר לשמור עבור השהות. נא לקצר את מה שכתבתם.
errors-message = לא ניתן היה לשלוח את ההודעה. היא לא יכולה להיות ריקה או ארוכה מדי.
errors-message-full = שלחתם את מספר ההודעות המרבי בעמוד זה. נא לפנות למארחים בדרך אחרת.
errors-chat-off = המארחים אינם מקבלים כאן הודעות.
errors-precheckin-off = הצ׳ק-אין מראש אינו זמין כרגע.
errors-step-gone = השלב הזה כבר אינו חלק מהצ׳ק-אין מראש.
errors-already-submitted = הצ׳ק-אין מראש כבר נשלח.
errors-stay-over = השהות הסתיימה, ולכן לא ניתן עוד לשנות כאן דבר.
errors-not-ready = חלק מהשלבים עדיין לא הושלמו.
errors-uploads-off = לא ניתן לקבל קבצים כרגע. נא לנסות מאוחר יותר או לפנות למארחים.
errors-retry = זה לא הצליח. נא לנסות שוב בעוד רגע.

### The ready set of steps and manuals.

agreement = يرجى التعامل مع الشقة كأنها بيتكم. التدخين ممنوع في الداخل، ولا تُقام حفلات، والهدوء مطلوب من الساعة 22:00 إلى 8:00. أخبرونا فورًا إذا تعطّل شيء.
question = في أي ساعة تتوقعون الوصول؟
wifi-title = الواي فاي
wifi =
    الشبكة: **{ "{{" }property.wifiName{ "}}" }**
    كلمة المرور: **{ "{{" }property.wifiPassword{ "}}" }**
arrival-title = وصولكم
arrival = يمكنكم الوصول ابتداءً من { "{{" }property.checkInTime{ "}}" } في { "{{" }stay.checkIn{ "}}" }. العنوان: { "{{" }property.address{ "}}" }.
leaving-title = مغادرتكم
leaving = يرجى المغادرة قبل { "{{" }property.checkOutTime{ "}}" } في { "{{" }stay.checkOut{ "}}" }. أغلقوا النوافذ وأطفئوا الأضواء وأخرجوا القمامة.

/** A few sentences each, written for this project: the first is for fitting the estimate of tokens, the second for looking at its error. */
export const SAMPLES: Readonly<Record<string, readonly [fit: string, test: string]>> = {
  German: [
    'Der Kunde möchte sein Geld zurück, weil die Lieferung beschädigt ankam. Bitte prüfe zuerst die Bestellnummer und frage nach einem Foto, bevor du die Erstattung auslöst. Rechnungen über zweihundert Euro muss ein Mitarbeiter freigeben.',
    'Gestern haben wir die neue Fassung des Vertrags an alle Abteilungen geschickt. Wer Änderungen wünscht, trägt sie bis Freitag in die gemeinsame Tabelle ein; danach wird die Druckerei beauftragt.',
  ],
  French: [
    'Le client souhaite être remboursé parce que la livraison est arrivée endommagée. Vérifie d’abord le numéro de commande et demande une photo avant de lancer le remboursement. Les factures de plus de deux cents euros doivent être validées par un employé.',
    'Nous avons envoyé hier la nouvelle version du contrat à tous les services. Ceux qui veulent des modifications les inscrivent avant vendredi dans le tableau commun ; ensuite, l’imprimerie sera prévenue.',
  ],
  Spanish: [
    'El cliente quiere que le devuelvan el dinero porque el pedido llegó dañado. Comprueba primero el número de pedido y pide una foto antes de iniciar el reembolso. Las facturas de más de doscientos euros las debe aprobar un empleado.',
    'Ayer enviamos la nueva versión del contrato a todos los departamentos. Quien quiera cambios los anota en la tabla común antes del viernes; después se avisará a la imprenta.',
  ],
  Portuguese: [
    'O cliente quer o dinheiro de volta porque a entrega chegou danificada. Confira primeiro o número do pedido e peça uma foto antes de iniciar o reembolso. Faturas acima de duzentos euros precisam da aprovação de um funcionário.',
    'Ontem enviamos a nova versão do contrato a todos os departamentos. Quem quiser alterações deve anotá-las na tabela comum até sexta-feira; depois disso a gráfica será avisada.',
  ],
  Italian: [
    'Il cliente vuole indietro i soldi perché la consegna è arrivata danneggiata. Controlla prima il numero dell’ordine e chiedi una foto prima di avviare il rimborso. Le fatture oltre duecento euro devono essere approvate da un impiegato.',
    'Ieri abbiamo mandato la nuova versione del contratto a tutti i reparti. Chi desidera modifiche le scrive nella tabella comune entro venerdì; poi sarà avvisata la tipografia.',
  ],
  Dutch: [
    'De klant wil zijn geld terug omdat de levering beschadigd is aangekomen. Controleer eerst het bestelnummer en vraag om een foto voordat je de terugbetaling start. Facturen boven tweehonderd euro moet een medewerker goedkeuren.',
    'Gisteren hebben we de nieuwe versie van het contract naar alle afdelingen gestuurd. Wie wijzigingen wil, zet ze voor vrijdag in de gedeelde tabel; daarna krijgt de drukkerij de opdracht.',
  ],
  Polish: [
    'Klient chce zwrotu pieniędzy, ponieważ przesyłka dotarła uszkodzona. Najpierw sprawdź numer zamówienia i poproś o zdjęcie, zanim uruchomisz zwrot. Faktury powyżej dwustu euro musi zatwierdzić pracownik.',
    'Wczoraj wysłaliśmy nową wersję umowy do wszystkich działów. Kto chce zmian, wpisuje je do wspólnej tabeli do piątku; potem zostanie powiadomiona drukarnia.',
  ],
  Czech: [
    'Zákazník chce peníze zpět, protože zásilka dorazila poškozená. Nejprve ověř číslo objednávky a požádej o fotografii, než spustíš vrácení. Faktury nad dvě stě eur musí schválit zaměstnanec.',
    'Včera jsme poslali novou verzi smlouvy všem oddělením. Kdo chce změny, zapíše je do společné tabulky do pátku; potom dostane zakázku tiskárna.',
  ],
  Swedish: [
    'Kunden vill ha pengarna tillbaka eftersom leveransen kom fram skadad. Kontrollera först ordernumret och be om ett foto innan du startar återbetalningen. Fakturor över tvåhundra euro måste godkännas av en anställd.',
    'I går skickade vi den nya versionen av avtalet till alla avdelningar. Den som vill ändra något skriver det i den gemensamma tabellen före fredag; därefter får tryckeriet besked.',
  ],
  Turkish: [
    'Müşteri, teslimat hasarlı geldiği için parasını geri istiyor. Önce sipariş numarasını kontrol et ve iadeyi başlatmadan önce bir fotoğraf iste. İki yüz avronun üzerindeki faturaları bir çalışan onaylamalıdır.',
    'Dün sözleşmenin yeni sürümünü bütün bölümlere gönderdik. Değişiklik isteyenler bunları cumaya kadar ortak tabloya yazsın; ondan sonra matbaaya haber verilecek.',
  ],
  Vietnamese: [
    'Khách hàng muốn được hoàn tiền vì hàng giao đến bị hỏng. Trước hết hãy kiểm tra số đơn hàng và xin một bức ảnh trước khi bắt đầu hoàn tiền. Hóa đơn trên hai trăm euro phải được nhân viên phê duyệt.',
    'Hôm qua chúng tôi đã gửi phiên bản mới của hợp đồng cho tất cả các phòng ban. Ai muốn thay đổi thì ghi vào bảng chung trước thứ sáu; sau đó nhà in sẽ được thông báo.',
  ],
  Indonesian: [
    'Pelanggan ingin uangnya kembali karena kiriman tiba dalam keadaan rusak. Periksa dulu nomor pesanan dan mintalah foto sebelum memulai pengembalian dana. Faktur di atas dua ratus euro harus disetujui oleh karyawan.',
    'Kemarin kami mengirim versi baru kontrak itu ke semua bagian. Siapa yang menginginkan perubahan menuliskannya di tabel bersama sebelum hari Jumat; setelah itu percetakan akan diberi tahu.',
  ],
  Russian: [
    'Клиент хочет вернуть деньги, потому что посылка пришла повреждённой. Сначала проверь номер заказа и попроси фотографию, прежде чем оформлять возврат. Счета свыше двухсот евро должен одобрить сотрудник.',
    'Вчера мы отправили новую версию договора во все отделы. Кто хочет изменений, вносит их в общую таблицу до пятницы; после этого сообщат типографии.',
  ],
  Ukrainian: [
    'Клієнт хоче повернути гроші, бо посилка прийшла пошкодженою. Спочатку перевір номер замовлення і попроси фотографію, перш ніж оформлювати повернення. Рахунки понад двісті євро має схвалити працівник.',
    'Учора ми надіслали нову версію договору до всіх відділів. Хто хоче змін, вносить їх до спільної таблиці до п’ятниці; після цього повідомлять друкарню.',
  ],
  Greek: [
    'Ο πελάτης θέλει τα χρήματά του πίσω, επειδή η παράδοση έφτασε κατεστραμμένη. Έλεγξε πρώτα τον αριθμό παραγγελίας και ζήτησε μια φωτογραφία πριν ξεκινήσεις την επιστροφή. Τιμολόγια πάνω από διακόσια ευρώ πρέπει να τα εγκρίνει υπάλληλος.',
    'Χθες στείλαμε τη νέα έκδοση της σύμβασης σε όλα τα τμήματα. Όποιος θέλει αλλαγές τις γράφει στον κοινό πίνακα μέχρι την Παρασκευή· μετά θα ειδοποιηθεί το τυπογραφείο.',
  ],
  Arabic: [
    'يريد العميل استرداد أمواله لأن الشحنة وصلت تالفة. تحقق أولاً من رقم الطلب واطلب صورة قبل بدء عملية الاسترداد. يجب أن يوافق موظف على الفواتير التي تزيد عن مئتي يورو.',
    'أرسلنا أمس النسخة الجديدة من العقد إلى جميع الأقسام. من يريد تعديلات يكتبها في الجدول المشترك قبل يوم الجمعة، وبعد ذلك يتم إبلاغ المطبعة.',
  ],
  Hebrew: [
    'הלקוח רוצה את כספו בחזרה כי המשלוח הגיע פגום. בדוק קודם את מספר ההזמנה ובקש תמונה לפני שתתחיל בהחזר. חשבוניות מעל מאתיים אירו חייב לאשר עובד.',
    'אתמול שלחנו את הגרסה החדשה של החוזה לכל המחלקות. מי שרוצה שינויים רושם אותם בטבלה המשותפת עד יום שישי; אחר כך תקבל בית הדפוס הודעה.',
  ],
  Hindi: [
    'ग्राहक अपने पैसे वापस चाहता है क्योंकि सामान टूटा हुआ पहुँचा। पहले ऑर्डर नंबर जाँचें और धन-वापसी शुरू करने से पहले एक तस्वीर माँगें। दो सौ यूरो से अधिक के बिल किसी कर्मचारी को मंज़ूर करने होंगे।',
    'कल हमने अनुबंध का नया संस्करण सभी विभागों को भेजा। जो बदलाव चाहते हैं वे शुक्रवार तक साझा तालिका में लिख दें; उसके बाद छापाखाने को सूचना दी जाएगी।',
  ],
  Chinese: [
    '客户想要退款，因为货物送到时已经损坏。请先核对订单号，并在开始退款之前要求提供照片。超过两百欧元的发票必须由员工批准。',
    '昨天我们把合同的新版本发给了所有部门。想要修改的人请在星期五之前写进共享表格，之后会通知印刷厂。',
  ],
  Japanese: [
    '商品が破損した状態で届いたため、お客様は返金を希望しています。まず注文番号を確認し、返金を始める前に写真を求めてください。二百ユーロを超える請求書は従業員の承認が必要です。',
    '昨日、契約書の新しい版をすべての部署に送りました。変更を希望する人は金曜日までに共有の表に書き込んでください。その後、印刷所に連絡します。',
  ],
  Korean: [
    '배송된 상품이 파손되어 고객이 환불을 원합니다. 먼저 주문 번호를 확인하고 환불을 시작하기 전에 사진을 요청하세요. 이백 유로가 넘는 청구서는 직원이 승인해야 합니다.',
    '어제 우리는 계약서의 새 버전을 모든 부서에 보냈습니다. 수정이 필요한 사람은 금요일까지 공유 표에 적어 주세요. 그 뒤에 인쇄소에 알릴 것입니다.',
  ],
  Thai: [
    'ลูกค้าต้องการเงินคืนเพราะสินค้ามาถึงในสภาพเสียหาย ให้ตรวจสอบหมายเลขคำสั่งซื้อก่อน แล้วขอรูปถ่ายก่อนเริ่มการคืนเงิน ใบแจ้งหนี้ที่เกินสองร้อยยูโรต้องได้รับอนุมัติจากพนักงาน',
    'เมื่อวานเราส่งสัญญาฉบับใหม่ให้ทุกแผนกแล้ว ใครต้องการแก้ไขให้เขียนลงในตารางร่วมภายในวันศุกร์ หลังจากนั้นจะแจ้งโรงพิมพ์',
  ],
};

(()=>{
const d=document,b=d.body,all=(s,f)=>d.querySelectorAll(s).forEach(f);
all('[data-copy]',t=>{
  if(!navigator.clipboard)return;
  t.hidden=false;
  t.addEventListener('click',()=>navigator.clipboard.writeText(t.dataset.copy).then(()=>{t.querySelector('[role=status]').textContent=t.dataset.done},()=>{}));
});
all('[data-print]',t=>{t.hidden=false;t.addEventListener('click',()=>print())});
all('[type=email]',t=>t.addEventListener('input',()=>{const v=t.value.replace(/\p{Cf}/gu,'');if(v!==t.value)t.value=v}));
const u=new URL(location);
if(u.searchParams.has('handedIn')){u.searchParams.delete('handedIn');history.replaceState(null,'',u)}
const open=()=>{const t=location.hash&&d.getElementById(location.hash.slice(1));if(t&&t.matches('details'))t.open=true};
addEventListener('hashchange',open);open();
addEventListener('beforeprint',()=>all('details.manual',t=>{t.open=true}));
if(b.dataset.worker&&'serviceWorker'in navigator)navigator.serviceWorker.register(b.dataset.worker,{scope:b.dataset.scope}).catch(()=>{});
})()

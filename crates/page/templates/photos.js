;(()=>{
const most=10485760,scaled=async f=>{
  const i=await createImageBitmap(f),c=document.createElement('canvas');
  let k=Math.min(1,4096/Math.max(i.width,i.height)),o=f;
  for(let n=0;n<9&&o&&o.size>most;n++,k*=.7){
    c.width=Math.max(1,i.width*k|0);c.height=Math.max(1,i.height*k|0);
    const x=c.getContext('2d');x.fillStyle='#fff';x.fillRect(0,0,c.width,c.height);x.drawImage(i,0,0,c.width,c.height);
    o=await new Promise(r=>c.toBlob(r,'image/jpeg',.85));
  }
  return o&&new File([o],f.name.replace(/\.[^.]*$/,'')+'.jpg',{type:'image/jpeg'});
};
document.querySelectorAll('input[type=file]').forEach(t=>t.form.addEventListener('submit',e=>{
  const f=t.files[0];
  if(!f||f.size<=most||!/^image\/(jpeg|png|webp)$/.test(f.type)||!self.createImageBitmap||!self.DataTransfer)return;
  e.preventDefault();
  scaled(f).then(n=>{if(n){const l=new DataTransfer;l.items.add(n);t.files=l.files}},()=>{}).then(()=>t.form.submit());
}));
})()

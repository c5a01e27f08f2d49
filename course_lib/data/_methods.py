"""Cómo se prepara cada plato: las plantillas de los pasos, en la notación de ``_grammar``.

Un renglón es un paso; los que empiezan por ``|`` son otras maneras de decirlo. ``@x`` es la
preparación que pide el ingrediente ``x`` (o su grupo) y ``&x``, su cocción si la necesita; ``%nombre``, un paso compartido. En la cabecera
de un método van sus papeles y el grupo de donde sale cada uno; ``self`` es el ingrediente que da nombre
al plato (los macarrones). Con ``?``, el papel es optativo y, si no toca, desaparecen los pasos que lo
nombran.
"""

# ruff: noqa: E501

# grupo(s) de ingredientes: cómo se prepara {x} antes de cocinar

PREPARATIONS = """
## root
Pela {x} y {corta+x} en cubos {pequeños|medianos}. => Peel {x} and cut {it/them~x} into {small|medium} cubes.
| Lava {x}, {pela+x} y {corta+x} en rodajas. => Wash {x}, peel {it/them~x} and cut {it/them~x} into slices.

## bulb
Pela {x} y {pica+x} en trozos pequeños. => Peel {x} and chop {it/them~x} into small pieces.
| Corta {x} en tiras finas. => Cut {x} into thin strips.

## puerro cebolleta
Lava {x} y {corta+x} en rodajas finas. => Wash {x} and cut {it/them~x} into thin slices.

## garlic
Pica {x} finamente. => Chop {x} finely.

## vegetable
Lava {x} y {corta+x} en {trozos|tiras}. => Wash {x} and cut {it/them~x} into {pieces|strips}.
| Limpia {x} y {corta+x} en rodajas. => Clean {x} and cut {it/them~x} into slices.

## legume_fresh
Enjuaga {x} y {escurre+x} bien. => Rinse {x} and drain {it/them~x} well.
| Lava {x} y {seca+x} con un paño limpio. => Wash {x} and dry {it/them~x} with a clean cloth.

## leaf
Lava {x} y {pica+x} en trozos grandes. => Wash {x} and chop {it/them~x} into large pieces.
| Enjuaga {x} con agua fría y {escurre+x} bien. => Rinse {x} with cold water and drain {it/them~x} well.

## mushroom
Limpia {x} con un paño húmedo y {corta+x} en láminas. => Clean {x} with a damp cloth and cut {it/them~x} into thin slices.

## meat
Corta {x} en {trozos pequeños|trozos medianos|cubos pequeños|cubos medianos}. => Cut {x} into {small pieces|medium pieces|small cubes|medium cubes}.
| Seca {x} con papel de cocina y {corta+x} en tiras. => Dry {x} with paper towels and cut {it/them~x} into strips.

## minced
Coloca {x} en un plato y {desmenuza+x} con un tenedor. => Place {x} on a plate and crumble {it/them~x} with a fork.

## cured
Corta {x} en cubos pequeños. => Cut {x} into small cubes.
| Corta {x} en rodajas finas. => Cut {x} into thin slices.

## fish
Limpia {x} y {corta+x} en trozos {medianos|grandes}. => Clean {x} and cut {it/them~x} into {medium|large} pieces.
| Quita la piel y las espinas y corta {x} en cubos. => Remove the skin and the bones and cut {x} into cubes.

## seafood
Limpia {x} y {enjuaga+x} con agua fría. => Clean {x} and rinse {it/them~x} with cold water.
| Lava {x} y {escurre+x} bien. => Wash {x} and drain {it/them~x} well.

## pulse
Remoja {x} durante {6|8|12} horas y {cuece+x} hasta que {esté/estén~x} {tierno~x}. => Soak {x} for {6|8|12} hours and cook {it/them~x} until {it is/they are~x} tender.

## grain pasta
Cuece {x} en agua hirviendo durante {10|12|15} minutos y {escurre+x}. => Cook {x} in boiling water for {10|12|15} minutes and drain {it/them~x}.

## tofu
Escurre {x} y {corta+x} en cubos. => Drain {x} and cut {it/them~x} into cubes.

## hard_cheese
Ralla {x} y {reserva+x}. => Grate {x} and set {it/them~x} aside.

## soft_cheese
Aplasta {x} con un tenedor hasta formar una pasta. => Mash {x} with a fork until a paste forms.

## egg
Hierve {x} durante {8|10} minutos, {pela+x} y {corta+x} por la mitad. => Boil {x} for {8|10} minutes, peel {it/them~x} and cut {it/them~x} in half.

## fruit
Pela {x} y {corta+x} en {cubos|láminas}. => Peel {x} and cut {it/them~x} into {cubes|thin slices}.

## citrus
Pela {x} y {separa+x} en gajos. => Peel {x} and separate {it/them~x} into segments.
| Pela {x}, quita las fibras blancas y {corta+x} en trozos. => Peel {x}, remove the white fibers and cut {it/them~x} into pieces.

## berry
Lava {x} y {seca+x} con cuidado. => Wash {x} and dry {it/them~x} carefully.
| Enjuaga {x} con agua fría y {escurre+x}. => Rinse {x} with cold water and drain {it/them~x}.

## nut
Tuesta {x} en una sartén y {pica+x} en trozos grandes. => Toast {x} in a skillet and chop {it/them~x} into large pieces.
| Pica {x} con un cuchillo. => Chop {x} with a knife.

## dried_fruit
Pica {x} con un cuchillo. => Chop {x} with a knife.
| Remoja {x} en agua tibia durante {10|15} minutos y {escurre+x}. => Soak {x} in warm water for {10|15} minutes and drain {it/them~x}.

## chocolate
Derrite {x} a fuego lento. => Melt {x} over low heat.
| Trocea {x} y {derrite+x} en el microondas. => Break up {x} and melt {it/them~x} in the microwave.

## dairy pantry dry_herb
Mide {x} y {reserva+x} en un tazón. => Measure {x} and set {it/them~x} aside in a bowl.
"""

# grupo(s) o ingredientes: cómo se cuecen cuando el plato no los va a cocer después

COOKING = """
## root
Hierve {x} durante {15|20} minutos, hasta que {esté/estén~x} {suave~x}. => Boil {x} for {15|20} minutes, until {it is/they are~x} soft.

## meat fish seafood tofu
Cocina {x} en una sartén durante {8|10|12} minutos y deja que se {enfríe/enfríen~x}. => Cook {x} in a skillet for {8|10|12} minutes and let {it/them~x} cool.
| Asa {x} durante {10|12|15} minutos y {reserva+x}. => Roast {x} for {10|12|15} minutes and set {it/them~x} aside.

## judías_verdes espárragos alcachofa brócoli coliflor arvejas habas
Cuece {x} al vapor durante {6|8|10} minutos. => Steam {x} for {6|8|10} minutes.
"""

STAGES = """
## sauté
Calienta {fat} y sofríe {aromatic} durante {3|5|8} minutos. => Heat {fat} and sauté {aromatic} for {3|5|8} minutes.
| Sofríe {aromatic} con {fat} a fuego {medio_ADJ|bajo}. => Sauté {aromatic} with {fat} over {medium|low} heat.

## garlic
Agrega {garlic} {picado~garlic} y revuelve durante un minuto. => Add the chopped {-garlic} and stir for a minute.
| Pica {garlic} y {agrega+garlic}. => Chop {garlic} and add {it/them~garlic}.

## brown
Incorpora {main} y dora todo durante {5|8|10} minutos. => Stir in {main} and brown everything for {5|8|10} minutes.
| Agrega {main} y cocina hasta que {esté/estén~main} {dorado~main}. => Add {main} and cook until {it is/they are~main} golden.

## season
Sazona con {-salt} y {-spice}. => Season with {-salt} and {-spice}.
| Agrega {spice} y una pizca de {-salt}. => Add {spice} and a pinch of {-salt}.

## salt
Prueba y sazona con {-salt}. => Taste and season with {-salt}.
| Agrega {salt} y mezcla bien. => Add {salt} and mix well.

## preheat
Precalienta el horno a {180|190|200} grados. => Preheat the oven to {180|190|200} degrees.

## whole_herb
Espolvorea {garnish} {picado~garnish} por encima. => Sprinkle the chopped {-garnish} on top.
| Pica {garnish} y {espolvorea+garnish} sobre {dish}. => Chop {garnish} and sprinkle {it/them~garnish} over {dish}.
| Justo antes de servir, agrega {garnish} {picado~garnish}. => Just before serving, add the chopped {-garnish}.

## topping
Decora con {garnish}. => Garnish with {garnish}.
| Reparte {garnish} por encima. => Scatter {garnish} on top.
| Antes de servir, cubre {dish} con {garnish}. => Before serving, top {dish} with {garnish}.

## serve
Sirve {dish} con {side}. => Serve {dish} with {side}.
| Acompaña {dish} con {side}. => Serve {dish} alongside {side}.
| Lleva {dish} a la mesa junto con {side}. => Bring {dish} to the table together with {side}.

## serve_hot
Sirve {dish} bien {caliente~dish} con {side}. => Serve {dish} very hot with {side}.
| Deja reposar {dish} durante {2|5} minutos y {sirve+dish} con {side}. => Let {dish} rest for {2|5} minutes and serve {it/them} with {side}.
| Reparte {dish} en platos hondos y sirve {side} al lado. => Divide {dish} among bowls and serve {side} on the side.

## serve_plate
Sirve {dish} con {side} al lado. => Serve {dish} with {side} on the side.
| Coloca {dish} en una fuente y {acompaña+dish} con {side}. => Place {dish} on a platter and pair {it/them} with {side}.
| Acompaña {dish} con {side}. => Serve {dish} alongside {side}.

## serve_cold
Sirve {dish} {frío~dish} con {side}. => Serve {dish} cold with {side}.
| Saca {dish} del refrigerador y {sirve+dish} con {side}. => Take {dish} out of the refrigerator and serve {it/them} with {side}.
| Acompaña {dish} con {side}. => Serve {dish} alongside {side}.

## serve_drink
Sirve {dish} en vasos {altos|grandes} y decora con {garnish}. => Serve {dish} in {tall|large} glasses and garnish with {garnish}.
| Reparte {dish} en vasos y agrega {garnish}. => Divide {dish} among glasses and add {garnish}.

## cool
Deja enfriar {dish} durante {10|15|20} minutos. => Let {dish} cool for {10|15|20} minutes.
| Retira {dish} del horno y deja que se {enfríe/enfríen}. => Take {dish} out of the oven and let {it/them} cool.

## chill
Refrigera {dish} durante {2|3|4} horas. => Refrigerate {dish} for {2|3|4} hours.
| Guarda {dish} en el refrigerador durante {2|3|4} horas. => Keep {dish} in the refrigerator for {2|3|4} hours.

## bake_dish
Hornea {dish} durante {25|30|40} minutos, hasta que {esté/estén} {dorado~dish}. => Bake {dish} for {25|30|40} minutes, until {it is/they are} golden.
| Lleva {dish} al horno durante {25|30|40} minutos. => Put {dish} in the oven for {25|30|40} minutes.

"""

METHODS = """
# ---------------------------------------------------------------- sopas

## soup: aromatic=bulb garlic=garlic fat=cooking_fat liquid=broth salt=sal spice=seasoned garnish=herb side=bread_side
@main
@aromatic
%sauté
%garlic
Agrega {main} y vierte {liquid}. => Add {main} and pour in {liquid}.
| Vierte {liquid} en la olla y agrega {main}. => Pour {liquid} into the pot and add {main}.
Tapa la olla y cocina a fuego lento durante {20|30|40} minutos. => Cover the pot and simmer for {20|30|40} minutes.
| Cocina a fuego lento durante {20|30|40} minutos y retira la espuma. => Simmer for {20|30|40} minutes and skim off the foam.
%season
%whole_herb
%serve_hot

## cream_soup: aromatic=bulb fat=cooking_fat liquid=broth dairy=creamy_dairy salt=sal spice=spice garnish=herb,nut side=bread_side
@main
@aromatic
%sauté
Agrega {main}, vierte {liquid} y hierve durante {15|20|25} minutos. => Add {main}, pour in {liquid} and boil for {15|20|25} minutes.
Licúa todo hasta obtener una mezcla suave. => Blend everything until the mixture is smooth.
| Tritura todo y cuela la mezcla. => Purée everything and strain the mixture.
Incorpora {dairy} y calienta sin que hierva. => Stir in {dairy} and heat without boiling.
%season
%topping
%serve_hot

## milk_soup: aromatic=bulb garlic=garlic fat=cooking_fat dairy=creamy_dairy second=papa,maíz_dulce,arvejas,habas salt=sal spice=spice garnish=herb side=bread_side
@main
@second
@aromatic
%sauté
%garlic
Agrega {second}, cubre con agua y hierve durante {15|20} minutos. => Add {second}, cover with water and boil for {15|20} minutes.
Agrega {main} y cocina durante {5|8|10} minutos. => Add {main} and cook for {5|8|10} minutes.
Vierte {dairy} y revuelve a fuego bajo. => Pour in {dairy} and stir over low heat.
%season
%whole_herb
%serve_hot

## cold_soup: second=pepino,tomate,pimiento_rojo,pimiento_verde aromatic=bulb garlic=ajo fat=aceite_de_oliva acid=acid salt=sal garnish=herb,nut side=bread_side
@main
@second
Licúa {main}, {second}, {aromatic} y {garlic} con un vaso de agua fría. => Blend {main}, {second}, {aromatic} and {garlic} with a glass of cold water.
Agrega {fat} y {acid} sin dejar de batir. => Add {fat} and {acid} while you keep beating.
%salt
Cuela {dish} y {vierte+dish} en una jarra. => Strain {dish} and pour {it/them} into a pitcher.
%chill
%topping
%serve_cold

# ---------------------------------------------------------------- guisos

## stew: aromatic=bulb garlic=garlic ?second=pimiento_rojo,pimiento_verde,zanahoria,apio,arvejas,camote fat=cooking_fat liquid=broth,salsa_de_tomate salt=sal spice=seasoned garnish=herb side=side
@main
@aromatic
@second
%sauté
%garlic
%brown
Agrega {second} y mezcla bien. => Add {second} and mix well.
Vierte {liquid} y espera a que hierva. => Pour in {liquid} and wait until it boils.
%season
Tapa y cocina a fuego lento durante {30|40|50} minutos. => Cover and simmer for {30|40|50} minutes.
| Baja el fuego y deja que {dish} se {cocine/cocinen} durante {30|40|50} minutos. => Lower the heat and let {dish} cook for {30|40|50} minutes.
%whole_herb
%serve_hot

## curry: aromatic=bulb garlic=garlic fat=oil curry=curry dairy=leche_de_coco,yogur_natural,crema_de_leche salt=sal spice=comino,cúrcuma,chile_en_polvo,azafrán,pimienta_negra garnish=cilantro,hierbabuena,menta,nut,pasas side=side
@main
@aromatic
%sauté
%garlic
Agrega {curry} y {spice} y tuesta durante un minuto. => Add {curry} and {spice} and toast for a minute.
%brown
Vierte {dairy} y cocina a fuego lento durante {15|20|25} minutos. => Pour in {dairy} and simmer for {15|20|25} minutes.
%salt
%topping
%serve_hot

# ---------------------------------------------------------------- ensaladas

## salad: second=salad_leaf,vegetable_salad ?cheese=crumbly_cheese fat=aceite_de_oliva acid=acid salt=sal spice=pimienta_negra,orégano,comino,pimentón garnish=salad_topping,herb side=bread_side
@main
&main
@second
&second
Mezcla {main} y {second} en {una ensaladera|un tazón grande}. => Mix {main} and {second} in {a salad bowl|a large bowl}.
| Coloca {second} en una fuente y reparte {main} por encima. => Place {second} on a platter and scatter {main} on top.
Desmenuza {cheese} y {agrega+cheese}. => Crumble {cheese} and add {it/them~cheese}.
Bate {fat}, {acid}, {salt} y {spice} para hacer el aderezo. => Beat {fat}, {acid}, {salt} and {spice} to make the dressing.
Vierte el aderezo sobre {dish} y revuelve con cuidado. => Pour the dressing over {dish} and stir carefully.
| Aliña {dish} justo antes de servir. => Dress {dish} just before serving.
%topping
%serve

## mayo_salad: potato=papa second=zanahoria,judías_verdes,espárragos,maíz_dulce,arvejas sauce=mayonesa acid=acid salt=sal garnish=herb,aceitunas,alcaparras side=bread_side
Pela {potato} y {hierve+potato} durante {20|25} minutos. => Peel {potato} and boil {it/them~potato} for {20|25} minutes.
@second
&second
@main
&main
Corta {potato} en cubos y mezcla con {second} y {main}. => Cut {potato} into cubes and mix with {second} and {main}.
Agrega {sauce} y {acid} y revuelve con cuidado. => Add {sauce} and {acid} and stir carefully.
%salt
%chill
%topping
%serve_cold

## ceviche: citrus=jugo_de_limón,jugo_de_naranja aromatic=cebolla_morada,cebolleta,chalote chili=ají_dulce,pimiento_rojo salt=sal garnish=cilantro,menta,aguacate,maíz_dulce,alcaparras,ajonjolí side=spread_side
@main
Corta {aromatic} y {chili} en tiras muy finas. => Cut {aromatic} and {chili} into very thin strips.
Coloca {main} en un tazón de vidrio y cubre con {citrus}. => Place {main} in a glass bowl and cover with {citrus}.
Marina {main} en el refrigerador durante {15|20|30} minutos. => Marinate {main} in the refrigerator for {15|20|30} minutes.
Agrega {aromatic} y {chili} y mezcla con cuidado. => Add {aromatic} and {chili} and mix carefully.
%salt
%topping
%serve_cold

# ---------------------------------------------------------------- pastas

## lasagna: aromatic=bulb garlic=garlic fat=aceite_de_oliva sauce=salsa_de_tomate,salsa_blanca pasta=láminas_de_lasaña cheese=hard_cheese salt=sal spice=seasoned garnish=herb,nut side=italian_side
%preheat
@main
@aromatic
%sauté
%garlic
%brown
%season
Cubre una bandeja con {pasta} y alterna capas de relleno y de {-sauce}. => Cover a baking dish with {pasta} and alternate layers of filling and of {-sauce}.
| Alterna en una bandeja capas de {-pasta}, relleno y {-sauce}. => Alternate layers of {-pasta}, filling and {-sauce} in a baking dish.
Ralla {cheese} y {reparte+cheese} sobre la última capa. => Grate {cheese} and scatter {it/them~cheese} over the last layer.
%bake_dish
%topping
%serve_plate

## cannelloni: aromatic=bulb garlic=garlic fat=aceite_de_oliva sauce=salsa_de_tomate,salsa_blanca pasta=láminas_de_lasaña cheese=hard_cheese salt=sal spice=seasoned garnish=herb,nut side=italian_side
%preheat
@pasta
@main
@aromatic
%sauté
%garlic
%brown
%season
Reparte el relleno sobre {pasta} y {enrolla+pasta}. => Divide the filling among {pasta} and roll {it/them~pasta} up.
Cubre {dish} con {sauce} y con {cheese} {rallado~cheese}. => Cover {dish} with {sauce} and with the grated {-cheese}.
%bake_dish
%topping
%serve_plate

## pasta: pasta=self aromatic=bulb garlic=garlic fat=aceite_de_oliva liquid=salsa_de_tomate,crema_de_leche,caldo_de_verduras,caldo_de_pollo salt=sal spice=seasoned cheese=hard_cheese garnish=herb,nut,aceitunas,alcaparras side=italian_side
Hierve agua en una olla grande y cuece {dish} durante {8|10|12} minutos. => Boil water in a large pot and cook {dish} for {8|10|12} minutes.
@main
@aromatic
%sauté
%garlic
%brown
Vierte {liquid} y cocina a fuego medio_ADJ durante {5|8|10} minutos. => Pour in {liquid} and cook over medium heat for {5|8|10} minutes.
%season
Escurre {dish} y {mezcla+dish} con la salsa. => Drain {dish} and mix {it/them} with the sauce.
Ralla {cheese} por encima. => Grate {cheese} on top.
%topping
%serve_plate

## noodles: noodles=self second=pimiento_rojo,zanahoria,repollo,apio,calabacín garlic=ajo,jengibre fat=oil sauce=salsa_de_soya sweetener=sweetener salt=sal garnish=cebolleta,cilantro,ajonjolí,cacahuates,albahaca,menta side=side
Remoja {dish} en agua caliente durante {5|8|10} minutos y {escurre+dish}. => Soak {dish} in hot water for {5|8|10} minutes and drain {it/them}.
@main
@second
Calienta {fat} en una sartén grande y saltea {garlic}. => Heat {fat} in a large skillet and sauté {garlic}.
%brown
Agrega {second} y saltea durante {3|4|5} minutos. => Add {second} and sauté for {3|4|5} minutes.
Disuelve {sweetener} en {sauce} y vierte la mezcla. => Dissolve {sweetener} in {sauce} and pour in the mixture.
Incorpora {dish} y cocina a fuego alto. => Stir in {dish} and cook over high heat.
%salt
%topping
%serve_plate

# ---------------------------------------------------------------- arroces

## rice: grain=arroz aromatic=bulb garlic=garlic second=pimiento_rojo,pimiento_verde,zanahoria,arvejas,maíz_dulce,judías_verdes fat=oil liquid=broth salt=sal spice=azafrán,achiote,cúrcuma,comino,pimentón garnish=herb,aceitunas,alcaparras side=plátanos_fritos,ensalada_verde,papas_fritas,tostones_de_yuca,pan_de_maíz
Lava {grain} y {escurre+grain}. => Wash {grain} and drain {it/them~grain}.
@main
@second
@aromatic
%sauté
%garlic
%brown
Agrega {second} y {grain} y revuelve durante {2|3} minutos. => Add {second} and {grain} and stir for {2|3} minutes.
Vierte {liquid} y agrega {spice}. => Pour in {liquid} and add {spice}.
%salt
Tapa y cocina a fuego bajo durante {18|20|25} minutos. => Cover and cook over low heat for {18|20|25} minutes.
%topping
%serve_plate

## risotto: grain=arroz aromatic=bulb fat=mantequilla,aceite_de_oliva liquid=caldo_de_verduras,caldo_de_pollo,caldo_de_pescado cheese=hard_cheese salt=sal spice=pimienta_negra,azafrán,nuez_moscada,tomillo,salvia garnish=herb,nut side=oven_side
@main
@aromatic
%sauté
Agrega {grain} y {tuesta+grain} durante {2|3} minutos. => Add {grain} and toast {it/them~grain} for {2|3} minutes.
Vierte {liquid} poco a poco sin dejar de revolver. => Pour in {liquid} little by little while you keep stirring.
Agrega {main} y cocina durante {10|12|15} minutos. => Add {main} and cook for {10|12|15} minutes.
%season
Retira la olla del fuego e incorpora {cheese} {rallado~cheese}. => Take the pot off the heat and stir in the grated {-cheese}.
%topping
%serve_plate

## fried_rice: grain=arroz second=zanahoria,arvejas,maíz_dulce,pimiento_rojo,apio egg=huevo garlic=ajo,jengibre fat=oil sauce=salsa_de_soya salt=sal garnish=cebolleta,cilantro,ajonjolí,cacahuates,cebollín side=plátanos_fritos,ensalada_verde,papas_fritas,tostones_de_yuca
Cuece {grain} en agua durante {15|18|20} minutos y deja que se enfríe. => Cook {grain} in water for {15|18|20} minutes and let it cool.
@main
@second
Bate {egg} con {-salt}. => Beat {egg} with {-salt}.
Calienta {fat} en una sartén grande y dora {garlic}. => Heat {fat} in a large skillet and brown {garlic}.
Agrega {main} y {second} y saltea durante {5|6|8} minutos. => Add {main} and {second} and sauté for {5|6|8} minutes.
Vierte {egg} {batido~egg} y revuelve hasta que {cuaje/cuajen~egg}. => Pour in the beaten {-egg} and stir until {it sets/they set~egg}.
Incorpora {grain} y {sauce} y mezcla a fuego alto. => Stir in {grain} and {sauce} and mix over high heat.
%topping
%serve_plate

# ---------------------------------------------------------------- horno

## pizza: flour=harina,harina_integral yeast=levadura fat=aceite_de_oliva sauce=salsa_de_tomate cheese=mozzarella,queso_manchego,queso_cheddar salt=sal garnish=rúcula,albahaca,orégano,aceitunas,alcaparras,piñones,nueces side=ensalada_verde,papas_fritas,pan_de_ajo
Disuelve {yeast} en un vaso de agua tibia. => Dissolve {yeast} in a glass of warm water.
Mezcla {flour} con {yeast}, {fat} y {salt} y amasa durante {8|10|12} minutos. => Mix {flour} with {yeast}, {fat} and {salt} and knead for {8|10|12} minutes.
Deja reposar la masa durante {1 hora|2 horas}. => Let the dough rest for {1 hour|2 hours}.
@main
&main
%preheat
Estira la masa y cubre con {sauce}. => Roll out the dough and cover with {sauce}.
Reparte {main} y {cheese} {rallado~cheese} sobre la masa. => Scatter {main} and the grated {-cheese} over the dough.
Hornea {dish} durante {12|15|18} minutos. => Bake {dish} for {12|15|18} minutes.
%topping
%serve_plate

## empanadas: dough=discos_de_empanada aromatic=bulb garlic=garlic fat=cooking_fat ?second=aceitunas,pasas,maíz_dulce,pimiento_rojo egg=huevo salt=sal spice=seasoned garnish=ajonjolí,semillas_de_girasol,cebollín,perejil,cilantro side=ensalada_verde,frijoles_refritos,papas_fritas,arroz_blanco
@main
@aromatic
%sauté
%garlic
%brown
Agrega {second} y mezcla bien. => Add {second} and mix well.
%season
Rellena {dough} con la mezcla, {dobla+dough} por la mitad y cierra los bordes con un tenedor. => Fill {dough} with the mixture, fold {it/them~dough} in half and seal the edges with a fork.
%preheat
Bate {egg} y pinta {dish} con una brocha. => Beat {egg} and brush {dish} with {it/them~egg}.
Hornea {dish} durante {20|25|30} minutos. => Bake {dish} for {20|25|30} minutes.
%topping
%serve_plate

## puff: dough=masa_de_hojaldre aromatic=bulb garlic=garlic fat=mantequilla,aceite_de_oliva egg=huevo salt=sal spice=seasoned garnish=ajonjolí,semillas_de_girasol,cebollín,perejil,nueces,almendras side=ensalada_verde,puré_de_papa,papas_fritas,arroz_blanco
%preheat
@main
@aromatic
%sauté
%garlic
%brown
%season
Estira {dough} y {rellena+dough} con la mezcla. => Roll out {dough} and fill {it/them~dough} with the mixture.
Bate {egg} y pinta la masa con una brocha. => Beat {egg} and brush the dough with {it/them~egg}.
%bake_dish
%topping
%serve_plate

## quiche: dough=masa_quebrada egg=huevo dairy=creamy_dairy cheese=hard_cheese aromatic=bulb fat=mantequilla,aceite_de_oliva salt=sal spice=spice,dry_herb garnish=herb,nut side=ensalada_verde,papas_fritas,puré_de_papa
%preheat
Forra un molde con {dough} y {pincha+dough} con un tenedor. => Line a pan with {dough} and prick {it/them~dough} with a fork.
@main
&main
@aromatic
%sauté
Bate {egg} con {dairy} y {cheese} {rallado~cheese}. => Beat {egg} with {dairy} and the grated {-cheese}.
%season
Reparte {main} y {aromatic} sobre la masa y vierte la mezcla. => Scatter {main} and {aromatic} over the dough and pour in the mixture.
%bake_dish
%topping
%serve_plate

## souffle: fat=mantequilla flour=harina,maicena dairy=white_liquid egg=huevo salt=sal spice=pimienta_negra,nuez_moscada,pimentón,tomillo garnish=herb,nut side=oven_side
%preheat
@main
&main
Derrite {fat}, agrega {flour} y tuesta durante un minuto. => Melt {fat}, add {flour} and toast for a minute.
Vierte {dairy} poco a poco y bate hasta obtener una crema. => Pour in {dairy} little by little and beat until the mixture is creamy.
%season
Separa las yemas de las claras y bate {egg} por separado. => Separate the yolks from the whites and beat {egg} separately.
Incorpora {main} y {egg} a la crema con movimientos suaves. => Fold {main} and {egg} into the cream gently.
Engrasa un molde y vierte la mezcla. => Grease a pan and pour in the mixture.
%bake_dish
%topping
%serve_plate

## gratin: garlic=ajo fat=mantequilla dairy=crema_de_leche,leche cheese=hard_cheese salt=sal spice=nuez_moscada,pimienta_negra,tomillo,romero,pimentón crumbs=pan_rallado garnish=herb,nut side=oven_side
%preheat
@main
Engrasa una bandeja con {fat} y {garlic} {picado~garlic}. => Grease a baking dish with {fat} and the chopped {-garlic}.
Coloca {main} en capas y cubre con {dairy}. => Arrange {main} in layers and cover with {dairy}.
%season
Mezcla {crumbs} con {cheese} {rallado~cheese} y espolvorea la mezcla por encima. => Mix {crumbs} with the grated {-cheese} and sprinkle the mixture on top.
%bake_dish
%topping
%serve_plate

## roast: fat=aceite_de_oliva,mantequilla garlic=ajo second=root acid=acid sweetener=miel,azúcar_moreno,mostaza salt=sal spice=seasoned garnish=herb,nut side=arroz_blanco,ensalada_verde,puré_de_papa,pan_de_centeno,frijoles_refritos
%preheat
@second
@main
Mezcla {fat}, {acid}, {sweetener} y {garlic} {picado~garlic}. => Mix {fat}, {acid}, {sweetener} and the chopped {-garlic}.
Cubre {main} con la mezcla y marina durante {30|40|60} minutos. => Cover {main} with the mixture and marinate for {30|40|60} minutes.
%season
Coloca {main} y {second} en una bandeja y asa durante {40|50|60} minutos. => Place {main} and {second} on a baking tray and roast for {40|50|60} minutes.
Voltea {main} a la mitad de la cocción. => Turn {main} over halfway through cooking.
%topping
%serve_plate

# ---------------------------------------------------------------- sartén

## croquettes: fat=mantequilla flour=harina dairy=leche aromatic=bulb egg=huevo crumbs=pan_rallado oil=oil salt=sal spice=nuez_moscada,pimienta_negra,pimentón garnish=herb,alcaparras,aceitunas side=ensalada_verde,papas_fritas,arroz_blanco,puré_de_papa
@main
@aromatic
%sauté
Agrega {flour}, vierte {dairy} y revuelve hasta que espese. => Add {flour}, pour in {dairy} and stir until it thickens.
Incorpora {main} y cocina durante {5|8} minutos. => Stir in {main} and cook for {5|8} minutes.
%season
Enfría la masa y forma {dish} con las manos. => Cool the dough and shape {dish} with your hands.
Bate {egg}, baña {dish} y {pasa+dish} por {crumbs}. => Beat {egg}, dip {dish} and roll {it/them} in {crumbs}.
Calienta {oil} y fríe {dish} hasta que {esté/estén} {dorado~dish}. => Heat {oil} and fry {dish} until {it is/they are} golden.
%topping
%serve_plate

## meatballs: aromatic=bulb garlic=ajo egg=huevo crumbs=pan_rallado fat=oil sauce=salsa_de_tomate,salsa_blanca,caldo_de_verduras salt=sal spice=seasoned garnish=herb,hard_cheese side=side
@aromatic
Mezcla {main} con {aromatic}, {garlic} {picado~garlic} y {crumbs}. => Mix {main} with {aromatic}, the chopped {-garlic} and {crumbs}.
Agrega {egg} y amasa con las manos. => Add {egg} and knead with your hands.
%season
Forma {dish} del tamaño de una nuez. => Shape {dish} the size of a walnut.
Calienta {fat} y dora {dish} durante {5|6|8} minutos. => Heat {fat} and brown {dish} for {5|6|8} minutes.
Cubre con {sauce} y cocina a fuego lento durante {15|20|25} minutos. => Cover with {sauce} and simmer for {15|20|25} minutes.
%topping
%serve_hot

## patties: aromatic=bulb garlic=ajo egg=huevo crumbs=pan_rallado fat=oil salt=sal spice=seasoned cheese=hard_cheese garnish=salad_leaf,tomate,pepino,aguacate,mostaza side=papas_fritas,ensalada_verde,tostones_de_yuca,plátanos_fritos
@main
&main
@aromatic
Mezcla {main} con {aromatic}, {garlic} {picado~garlic}, {egg} y {crumbs} hasta formar una masa firme. => Mix {main} with {aromatic}, the chopped {-garlic}, {egg} and {crumbs} until a firm dough forms.
%season
Forma {dish} con las manos y {aplasta+dish}. => Shape {dish} with your hands and flatten {it/them}.
Calienta {fat} y dora {dish} durante {4|5|6} minutos por cada lado. => Heat {fat} and brown {dish} for {4|5|6} minutes on each side.
Coloca {cheese} sobre {dish} y espera a que se derrita. => Place {cheese} on {dish} and wait until it melts.
%topping
%serve_plate

## fritters: egg=huevo flour=harina,harina_de_maíz,harina_integral cheese=crumbly_cheese aromatic=cebolleta,chalote,cebolla fat=oil salt=sal spice=spice garnish=herb,yogur_natural,mostaza,mayonesa side=ensalada_verde,arroz_blanco,frijoles_refritos,puré_de_papa
@main
@aromatic
Bate {egg} con {flour} hasta obtener una masa espesa. => Beat {egg} with {flour} until the batter is thick.
Incorpora {main}, {aromatic} y {cheese}. => Stir in {main}, {aromatic} and {cheese}.
%season
Calienta {fat} en una sartén y vierte la masa por cucharadas. => Heat {fat} in a skillet and pour in the batter by spoonfuls.
Fríe {dish} durante {2|3|4} minutos por cada lado. => Fry {dish} for {2|3|4} minutes on each side.
%topping
%serve_plate

## omelette: egg=huevo aromatic=cebolla_morada,chalote,cebolleta fat=aceite_de_oliva,mantequilla ?cheese=crumbly_cheese salt=sal spice=pimienta_negra,orégano,tomillo,cúrcuma,pimentón garnish=herb,aceitunas,aguacate side=pan_tostado,pan_de_centeno,ensalada_verde,papas_fritas,casabe,frijoles_refritos,plátanos_fritos
@main
@aromatic
%sauté
Agrega {main} y cocina durante {5|8|10} minutos. => Add {main} and cook for {5|8|10} minutes.
Bate {egg} en un tazón. => Beat {egg} in a bowl.
%season
Vierte {egg} en la sartén y cocina a fuego bajo hasta que {cuaje/cuajen~egg}. => Pour {egg} into the skillet and cook over low heat until {it sets/they set~egg}.
Voltea {dish} con un plato y cocina {2|3} minutos más. => Flip {dish} with a plate and cook for {2|3} more minutes.
Desmenuza {cheese} y {reparte+cheese} sobre {dish}. => Crumble {cheese} and scatter {it/them~cheese} over {dish}.
%topping
%serve

## breaded: egg=huevo flour=harina garlic=ajo crumbs=pan_rallado fat=oil salt=sal spice=spice,dry_herb garnish=herb,aceitunas,alcaparras side=side
Corta {main} en láminas finas. => Cut {main} into thin slices.
Bate {egg} con {garlic} {picado~garlic}. => Beat {egg} with the chopped {-garlic}.
%season
Pasa {main} por {flour}, por {egg} y por {crumbs}. => Dip {main} in {flour}, in {egg} and in {crumbs}.
Calienta {fat} en una sartén y fríe {main} durante {2|3|4} minutos por cada lado. => Heat {fat} in a skillet and fry {main} for {2|3|4} minutes on each side.
%topping
%serve_plate

## skewers: second=pimiento_rojo,pimiento_verde,calabacín,cebolla_morada,piña,tomate,champiñones garlic=ajo,jengibre fat=oil acid=acid sauce=salsa_de_soya,mostaza,miel salt=sal spice=seasoned garnish=herb,ajonjolí,cacahuates side=side
@main
@second
Mezcla {fat}, {acid}, {sauce} y {garlic} {picado~garlic}. => Mix {fat}, {acid}, {sauce} and the chopped {-garlic}.
Marina {main} en la mezcla durante {20|30|60} minutos. => Marinate {main} in the mixture for {20|30|60} minutes.
Ensarta {main} y {second} en palillos de madera. => Thread {main} and {second} onto wooden skewers.
%season
Asa {dish} a fuego alto durante {8|10|12} minutos y {voltea+dish} a menudo. => Grill {dish} over high heat for {8|10|12} minutes and turn {it/them} often.
%topping
%serve_plate

## stir_fry: second=pimiento_rojo,pimiento_amarillo,zanahoria,judías_verdes,apio,repollo aromatic=bulb garlic=ajo,jengibre fat=oil sauce=salsa_de_soya thickener=maicena salt=sal garnish=nut,ajonjolí,herb side=arroz_blanco,ensalada_verde,puré_de_papa
@main
@second
@aromatic
%sauté
%garlic
Agrega {main} y saltea durante {4|5|6} minutos. => Add {main} and sauté for {4|5|6} minutes.
Incorpora {second} y saltea a fuego alto. => Stir in {second} and sauté over high heat.
Disuelve {thickener} en {sauce} y vierte la mezcla en la sartén. => Dissolve {thickener} in {sauce} and pour the mixture into the skillet.
%salt
%topping
%serve_plate

# ---------------------------------------------------------------- tortillas y maíz

## tacos: wrap=tortillas_de_maíz,tortillas_de_trigo aromatic=bulb garlic=ajo fat=oil acid=jugo_de_limón,jugo_de_naranja salt=sal spice=comino,achiote,orégano,pimentón,chile_en_polvo garnish=cilantro,aguacate,repollo,queso_fresco,piña,lechuga side=frijoles_refritos,arroz_blanco,papas_fritas,plátanos_fritos,ensalada_verde
@main
@aromatic
%sauté
%garlic
%brown
%season
Baña {main} con {acid} y revuelve. => Drizzle {main} with {acid} and stir.
Calienta {wrap} en una sartén sin aceite. => Heat {wrap} in a skillet without oil.
Rellena {wrap} con la mezcla. => Fill {wrap} with the mixture.
%topping
%serve_plate

## quesadillas: wrap=tortillas_de_maíz,tortillas_de_trigo cheese=mozzarella,queso_cheddar,queso_manchego aromatic=bulb fat=oil salt=sal spice=comino,orégano,pimentón garnish=cilantro,aguacate,crema_de_leche,tomate side=frijoles_refritos,ensalada_verde,papas_fritas,arroz_blanco
@main
@aromatic
%sauté
%brown
%season
Ralla {cheese} y {reparte+cheese} sobre {wrap}. => Grate {cheese} and scatter {it/them~cheese} over {wrap}.
Agrega el relleno y dobla {wrap} por la mitad. => Add the filling and fold {wrap} in half.
Tuesta {dish} en una sartén durante {2|3} minutos por cada lado. => Toast {dish} in a skillet for {2|3} minutes on each side.
%topping
%serve_plate

## burritos: wrap=tortillas_de_trigo grain=arroz aromatic=bulb garlic=ajo fat=oil sauce=salsa_de_tomate salt=sal spice=comino,achiote,orégano,pimentón,chile_en_polvo garnish=aguacate,crema_de_leche,cilantro,queso_fresco,lechuga,maíz_dulce side=papas_fritas,ensalada_verde,frijoles_refritos,nachos,plátanos_fritos
Cuece {grain} en agua durante {15|18|20} minutos. => Cook {grain} in water for {15|18|20} minutes.
@main
@aromatic
%sauté
%garlic
%brown
Vierte {sauce} y cocina durante {10|15} minutos. => Pour in {sauce} and cook for {10|15} minutes.
%season
Reparte {grain} y el relleno sobre {wrap} y {enrolla+wrap}. => Divide {grain} and the filling among {wrap} and roll {it/them~wrap} up.
%topping
%serve_plate

## enchiladas: wrap=tortillas_de_maíz sauce=salsa_de_tomate aromatic=bulb garlic=ajo fat=oil cheese=hard_cheese salt=sal spice=comino,achiote,orégano,pimentón garnish=crema_de_leche,cilantro,aguacate,cebolla_morada,aceitunas side=frijoles_refritos,arroz_blanco,ensalada_verde,plátanos_fritos
@main
@aromatic
%sauté
%garlic
%brown
%season
Rellena {wrap}, {enrolla+wrap} y {coloca+wrap} en una bandeja. => Fill {wrap}, roll {it/them~wrap} up and place {it/them~wrap} in a baking dish.
Cubre {dish} con {sauce} y {cheese} {rallado~cheese}. => Cover {dish} with {sauce} and the grated {-cheese}.
%bake_dish
%topping
%serve_plate

## arepas: flour=harina_de_maíz liquid=agua fat=mantequilla aromatic=bulb oil=oil salt=sal spice=comino,achiote,pimentón garnish=aguacate,queso_fresco,cilantro,mayonesa,tomate side=plátanos_fritos,ensalada_verde,frijoles_refritos,tostones_de_yuca
Mezcla {flour} con {liquid} y {fat} y amasa durante {5|8} minutos. => Mix {flour} with {liquid} and {fat} and knead for {5|8} minutes.
Forma {dish} con las manos y {asa+dish} durante {6|8|10} minutos por cada lado. => Shape {dish} with your hands and grill {it/them} for {6|8|10} minutes on each side.
@main
@aromatic
Calienta {oil} en una sartén y cocina {aromatic} y {main}. => Heat {oil} in a skillet and cook {aromatic} and {main}.
%season
Abre {dish} por la mitad y {rellena+dish}. => Open {dish} in half and fill {it/them}.
%topping
%serve_plate

## tamales: flour=harina_de_maíz liquid=caldo_de_pollo,caldo_de_verduras fat=mantequilla,aceite_de_maíz leavener=polvo_de_hornear sauce=salsa_de_tomate salt=sal spice=achiote,comino,pimentón garnish=cilantro,crema_de_leche,queso_fresco,aguacate side=frijoles_refritos,arroz_blanco,ensalada_verde,plátanos_fritos
@main
Bate {flour} con {fat}, {leavener} y {liquid}. => Beat {flour} with {fat}, {leavener} and {liquid}.
Cocina {main} con {sauce} durante {20|25|30} minutos. => Cook {main} with {sauce} for {20|25|30} minutes.
%season
Reparte la masa y el relleno en hojas de maíz y envuelve {dish}. => Divide the dough and the filling among corn husks and wrap {dish}.
Cuece {dish} al vapor durante {50|60} minutos. => Steam {dish} for {50|60} minutes.
%topping
%serve_plate

# ---------------------------------------------------------------- salsas

## sauce: aromatic=bulb garlic=ajo,jengibre chili=ají_dulce,apio,zanahoria fat=oil acid=acid salt=sal spice=spice garnish=herb side=spread_side
@main
@aromatic
%sauté
%garlic
@chili
Agrega {main} y {chili} y cocina durante {10|15|20} minutos. => Add {main} and {chili} and cook for {10|15|20} minutes.
Licúa todo con {acid}. => Blend everything with {acid}.
%season
%whole_herb
%serve

## pesto: leaf=albahaca,perejil,rúcula,espinacas,menta garlic=ajo cheese=queso_parmesano,queso_manchego acid=jugo_de_limón fat=aceite_de_oliva salt=sal garnish=pimienta_negra,semillas_de_girasol,aceitunas,alcaparras side=spread_side
@main
Lava {leaf} y {seca+leaf} bien. => Wash {leaf} and dry {it/them~leaf} well.
Machaca {garlic} con {-salt}. => Crush {garlic} with {-salt}.
Tritura {main} con {leaf} y {garlic}. => Grind {main} with {leaf} and {garlic}.
Agrega {fat} y {acid} poco a poco. => Add {fat} and {acid} little by little.
Ralla {cheese} y {mezcla+cheese} con {dish}. => Grate {cheese} and mix {it/them~cheese} with {dish}.
%topping
%serve

## hummus: paste=tahini garlic=ajo acid=jugo_de_limón fat=aceite_de_oliva salt=sal spice=comino,pimentón,chile_en_polvo,cúrcuma garnish=herb,piñones,ajonjolí,pistachos,aceitunas side=spread_side
@main
Hierve {main} hasta que {esté/estén~main} muy {suave~main}. => Boil {main} until {it is/they are~main} very soft.
Licúa {main} con {paste}, {garlic} y {acid}. => Blend {main} with {paste}, {garlic} and {acid}.
%season
Coloca {dish} en un plato hondo y riega con {fat}. => Place {dish} in a bowl and drizzle with {fat}.
%topping
%serve

## guacamole: base=aguacate aromatic=cebolla_morada,chalote,cebolleta chili=ají_dulce acid=jugo_de_limón salt=sal garnish=cilantro,semillas_de_girasol,menta,ajonjolí,queso_fresco side=spread_side
Corta {base} por la mitad y quita {la semilla|la cáscara}. => Cut {base} in half and remove {the seed|the skin}.
Aplasta {base} con un tenedor. => Mash {base} with a fork.
@main
Pica {aromatic} y {chili} finamente. => Chop {aromatic} and {chili} finely.
Mezcla {base}, {main}, {aromatic} y {chili}. => Mix {base}, {main}, {aromatic} and {chili}.
Agrega {acid} y {salt}. => Add {acid} and {salt}.
%topping
%serve

## chutney: aromatic=cebolla,cebolla_morada,chalote ginger=jengibre acid=vinagre_de_manzana,vinagre_balsámico sweetener=azúcar,azúcar_moreno,panela dried=dried_fruit salt=sal spice=canela,cardamomo,comino,chile_en_polvo garnish=herb,nut side=spread_side
@main
@aromatic
Coloca {main} y {aromatic} en una olla con {acid}. => Place {main} and {aromatic} in a pot with {acid}.
Ralla {ginger} y {agrega+ginger} con {sweetener}. => Grate {ginger} and add {it/them~ginger} with {sweetener}.
Incorpora {dried} y cocina a fuego lento durante {30|40|50} minutos. => Stir in {dried} and simmer for {30|40|50} minutes.
%season
Deja enfriar {dish} en un frasco de vidrio. => Let {dish} cool in a glass jar.
%topping
%serve

# ---------------------------------------------------------------- postres

## tart: flour=harina,harina_integral fat=mantequilla sweetener=azúcar,azúcar_moreno,panela egg=huevo dairy=crema_de_leche,leche spice=sweet_spice garnish=sweet_garnish side=soft_dessert_side
%preheat
Mezcla {flour} con {fat} y amasa hasta formar una masa lisa. => Mix {flour} with {fat} and knead until a smooth dough forms.
Estira la masa y forra un molde. => Roll out the dough and line a pan.
@main
Bate {egg} con {sweetener} y {dairy}. => Beat {egg} with {sweetener} and {dairy}.
Agrega {spice} a la mezcla. => Add {spice} to the mixture.
Reparte {main} sobre la masa y vierte la mezcla. => Scatter {main} over the dough and pour in the mixture.
%bake_dish
%cool
%topping
%serve

## cake: flour=harina,harina_integral sweetener=azúcar,azúcar_moreno,panela egg=huevo fat=mantequilla,aceite_de_girasol dairy=leche,yogur_natural,leche_de_almendras leavener=polvo_de_hornear spice=sweet_spice garnish=sweet_garnish side=soft_dessert_side
%preheat
@main
&main
Bate {egg} con {sweetener} hasta que la mezcla esté espumosa. => Beat {egg} with {sweetener} until the mixture is foamy.
Agrega {fat} y {dairy} y sigue batiendo. => Add {fat} and {dairy} and keep beating.
Tamiza {flour} con {leavener} y {spice} e incorpora todo a la mezcla. => Sift {flour} with {leavener} and {spice} and fold everything into the mixture.
Agrega {main} y mezcla con una espátula. => Add {main} and mix with a spatula.
Engrasa un molde y vierte la masa. => Grease a pan and pour in the batter.
%bake_dish
%cool
%topping
%serve

## cookies: flour=harina,harina_integral,harina_de_maíz sweetener=azúcar,azúcar_moreno,panela egg=huevo fat=mantequilla leavener=polvo_de_hornear spice=sweet_spice garnish=sweet_garnish side=soft_dessert_side
%preheat
Bate {fat} con {sweetener} hasta que la mezcla esté suave. => Beat {fat} with {sweetener} until the mixture is smooth.
Agrega {egg} y {spice} y mezcla bien. => Add {egg} and {spice} and mix well.
Tamiza {flour} con {leavener} y {agrega+flour} poco a poco. => Sift {flour} with {leavener} and add {it/them~flour} little by little.
@main
Incorpora {main} y forma bolas pequeñas. => Stir in {main} and shape small balls.
Coloca {dish} en una bandeja y {hornea+dish} durante {10|12|15} minutos. => Place {dish} on a baking tray and bake {it/them} for {10|12|15} minutes.
%cool
%topping
%serve

## flan: egg=huevo dairy=leche condensed=leche_condensada sweetener=azúcar,panela spice=sweet_spice garnish=sweet_garnish side=soft_dessert_side
%preheat
Derrite {sweetener} en un molde hasta formar un caramelo. => Melt {sweetener} in a pan until a caramel forms.
@main
&main
Licúa {main} con {dairy} y {condensed}. => Blend {main} with {dairy} and {condensed}.
Bate {egg} con {spice} y {agrega+egg} a la mezcla. => Beat {egg} with {spice} and add {it/them~egg} to the mixture.
Vierte la mezcla en el molde y hornea a baño_NOUN María durante {45|50|60} minutos. => Pour the mixture into the pan and bake in a water bath for {45|50|60} minutes.
%chill
%topping
%serve_cold

## mousse: dairy=crema_de_leche egg=huevo sweetener=azúcar,miel,panela gelatin=gelatina_sin_sabor spice=sweet_spice garnish=sweet_garnish side=galletas_de_vainilla,merengues,alfajores,salsa_de_chocolate,dulce_de_leche,mermelada_de_frambuesa
@main
Tritura {main} hasta obtener un puré. => Crush {main} until the mixture is a purée.
Disuelve {gelatin} en agua caliente y agrega {spice}. => Dissolve {gelatin} in hot water and add {spice}.
Bate {dairy} con {sweetener} hasta que esté firme. => Beat {dairy} with {sweetener} until it is firm.
Bate las claras de {egg} a punto de nieve. => Beat the whites of {egg} until stiff.
Incorpora el puré y {gelatin} a la crema con movimientos suaves. => Fold the purée and {gelatin} into the cream gently.
Reparte {dish} en copas. => Divide {dish} among dessert glasses.
%chill
%topping
%serve_cold

## ice_cream: dairy=crema_de_leche,leche,leche_de_coco,yogur_natural sweetener=azúcar,miel,panela,leche_condensada spice=sweet_spice garnish=sweet_garnish side=galletas_de_vainilla,salsa_de_chocolate,dulce_de_leche,mermelada_de_frambuesa
@main
Calienta {dairy} con {spice} a fuego bajo. => Heat {dairy} with {spice} over low heat.
Agrega {sweetener} y revuelve hasta que se disuelva. => Add {sweetener} and stir until it dissolves.
Licúa la mezcla con {main}. => Blend the mixture with {main}.
Congela la mezcla durante {4|5|6} horas y bate {dish} cada hora. => Freeze the mixture for {4|5|6} hours and beat {dish} every hour.
%topping
%serve_cold

## sorbet: liquid=agua sweetener=azúcar,miel,panela acid=jugo_de_limón garnish=sweet_garnish side=galletas_de_vainilla,salsa_de_chocolate,mermelada_de_frambuesa,crema_batida
Hierve {liquid} con {sweetener} hasta formar un almíbar. => Boil {liquid} with {sweetener} until a syrup forms.
@main
Licúa {main} con el almíbar y {acid}. => Blend {main} with the syrup and {acid}.
Cuela la mezcla y congela durante {4|5|6} horas. => Strain the mixture and freeze for {4|5|6} hours.
Raspa {dish} con un tenedor. => Scrape {dish} with a fork.
%topping
%serve_cold

## compote: sweetener=azúcar,azúcar_moreno,panela,miel acid=jugo_de_limón,jugo_de_naranja spice=sweet_spice garnish=nut,menta,hierbabuena,ajonjolí,semillas_de_chía side=helado_de_vainilla,crema_batida,galletas_de_vainilla,pan_tostado,pan_de_centeno
@main
Coloca {main} en una olla con {sweetener}. => Place {main} in a pot with {sweetener}.
Agrega {acid} y {spice}. => Add {acid} and {spice}.
Cocina a fuego lento durante {20|30|40} minutos y revuelve de vez en cuando. => Simmer for {20|30|40} minutes and stir from time to time.
Deja enfriar {dish} y {guarda+dish} en un frasco de vidrio. => Let {dish} cool and store {it/them} in a glass jar.
%topping
%serve

## jelly: gelatin=gelatina_sin_sabor liquid=agua sweetener=azúcar,miel,panela acid=jugo_de_limón garnish=sweet_garnish side=crema_batida,galletas_de_vainilla,helado_de_vainilla,mermelada_de_frambuesa
@main
Licúa {main} con {liquid} y cuela la mezcla. => Blend {main} with {liquid} and strain the mixture.
Calienta la mezcla con {sweetener} y {acid}. => Heat the mixture with {sweetener} and {acid}.
Disuelve {gelatin} en la mezcla caliente y revuelve. => Dissolve {gelatin} in the hot mixture and stir.
Vierte {dish} en un molde. => Pour {dish} into a mold.
%chill
%topping
%serve_cold

## custard: dairy=leche,leche_de_coco,leche_de_almendras egg=huevo sweetener=azúcar,panela,miel thickener=maicena spice=sweet_spice garnish=sweet_garnish side=galletas_de_vainilla,crema_batida,mermelada_de_frambuesa,dulce_de_leche
@main
&main
Calienta {dairy} con {spice} a fuego medio_ADJ. => Heat {dairy} with {spice} over medium heat.
Bate {egg} con {sweetener} y {thickener}. => Beat {egg} with {sweetener} and {thickener}.
Vierte {dairy} {caliente~dairy} sobre la mezcla sin dejar de batir. => Pour the hot {-dairy} over the mixture while you keep beating.
Agrega {main} y cocina a fuego bajo hasta que espese. => Add {main} and cook over low heat until it thickens.
Reparte {dish} en copas. => Divide {dish} among dessert glasses.
%chill
%topping
%serve_cold

## rice_pudding: grain=arroz dairy=leche,leche_de_coco,leche_de_almendras sweetener=azúcar,panela,leche_condensada spice=sweet_spice garnish=sweet_garnish side=galletas_de_vainilla,crema_batida,mermelada_de_frambuesa,dulce_de_leche
Lava {grain} y {hierve+grain} en agua durante {10|12} minutos. => Wash {grain} and boil {it/them~grain} in water for {10|12} minutes.
Vierte {dairy} y agrega {spice}. => Pour in {dairy} and add {spice}.
Cocina a fuego bajo durante {25|30} minutos y revuelve a menudo. => Cook over low heat for {25|30} minutes and stir often.
Agrega {sweetener} y mezcla bien. => Add {sweetener} and mix well.
@main
Incorpora {main} y retira la olla del fuego. => Stir in {main} and take the pot off the heat.
%chill
%topping
%serve_cold

## crumble: flour=harina,harina_integral,hojuelas_de_avena fat=mantequilla sweetener=azúcar,azúcar_moreno,panela acid=jugo_de_limón,jugo_de_naranja spice=sweet_spice garnish=nut,coco_rallado,azúcar_en_polvo side=helado_de_vainilla,crema_batida,dulce_de_leche,salsa_de_chocolate
%preheat
@main
Coloca {main} en una bandeja y riega con {acid}. => Place {main} in a baking dish and drizzle with {acid}.
Mezcla {flour} con {sweetener} y {spice}. => Mix {flour} with {sweetener} and {spice}.
Agrega {fat} y desmenuza la masa con los dedos. => Add {fat} and crumble the dough with your fingers.
Cubre la fruta con la masa. => Cover the fruit with the dough.
%bake_dish
%topping
%serve

## truffles: dairy=crema_de_leche,leche_condensada fat=mantequilla nut=nut spice=sweet_spice coating=cacao,coco_rallado,azúcar_en_polvo,ajonjolí garnish=menta,hierbabuena,frambuesas,fresas side=crema_batida,dulce_de_leche,mermelada_de_frambuesa,helado_de_vainilla
@main
Calienta {dairy} con {fat} y {spice}. => Heat {dairy} with {fat} and {spice}.
Combina {main} con la mezcla caliente hasta formar una pasta. => Combine {main} with the hot mixture until a paste forms.
Pica {nut} y {agrega+nut}. => Chop {nut} and add {it/them~nut}.
Refrigera la pasta durante {1 hora|2 horas}. => Refrigerate the paste for {1 hour|2 hours}.
Forma {dish} con las manos y {cubre+dish} con {coating}. => Shape {dish} with your hands and coat {it/them} with {coating}.
%topping
%serve_cold

## bars: flakes=hojuelas_de_avena sweetener=miel,panela fat=mantequilla second=cacao,semillas_de_chía,ajonjolí,coco_rallado spice=sweet_spice garnish=virutas_de_chocolate,azúcar_en_polvo,piñones,pistachos side=helado_de_vainilla,crema_batida,dulce_de_leche,mermelada_de_frambuesa
%preheat
@main
Derrite {fat} con {sweetener} a fuego lento. => Melt {fat} with {sweetener} over low heat.
Mezcla {flakes} con {main}, {second} y {spice}. => Mix {flakes} with {main}, {second} and {spice}.
Incorpora {fat} y {sweetener} a la mezcla. => Stir {fat} and {sweetener} into the mixture.
Extiende la mezcla en una bandeja y hornea durante {20|25|30} minutos. => Spread the mixture on a baking tray and bake for {20|25|30} minutes.
Enfría la mezcla y corta {dish}. => Cool the mixture and cut {dish}.
%topping
%serve

# ---------------------------------------------------------------- desayunos

## pancakes: flour=harina,harina_integral egg=huevo dairy=drink_milk sweetener=azúcar,panela leavener=polvo_de_hornear spice=sweet_spice fat=mantequilla,aceite_de_girasol garnish=sweet_garnish side=soft_dessert_side
@main
&main
Mezcla {flour} con {sweetener}, {leavener} y {spice}. => Mix {flour} with {sweetener}, {leavener} and {spice}.
Agrega {egg} y {dairy} y bate hasta que no haya grumos. => Add {egg} and {dairy} and beat until there are no lumps.
Incorpora {main} a la mezcla. => Stir {main} into the mixture.
Calienta {fat} en una sartén y vierte la mezcla por cucharadas. => Heat {fat} in a skillet and pour in the mixture by spoonfuls.
Cocina {dish} durante {2|3} minutos por cada lado. => Cook {dish} for {2|3} minutes on each side.
%topping
%serve

## crepes: flour=harina,harina_integral egg=huevo dairy=leche,leche_de_almendras,bebida_de_avena sweetener=azúcar,panela,miel fat=mantequilla spice=sweet_spice garnish=sweet_garnish side=soft_dessert_side
Bate {egg} con {dairy} y {flour} hasta que no haya grumos. => Beat {egg} with {dairy} and {flour} until there are no lumps.
Deja reposar la masa durante {20|30} minutos. => Let the batter rest for {20|30} minutes.
@main
Cocina {main} con {sweetener} y {spice} durante {5|8|10} minutos. => Cook {main} with {sweetener} and {spice} for {5|8|10} minutes.
Derrite {fat} en una sartén y vierte una capa fina de masa. => Melt {fat} in a skillet and pour in a thin layer of batter.
Voltea {dish} cuando los bordes se doren. => Flip {dish} when the edges brown.
Rellena {dish} y {dobla+dish} por la mitad. => Fill {dish} and fold {it/them} in half.
%topping
%serve

## oatmeal: flakes=hojuelas_de_avena dairy=leche,leche_de_coco,leche_de_almendras sweetener=miel,panela,azúcar_moreno spice=sweet_spice garnish=sweet_garnish side=yogur_natural,dulce_de_leche,pan_tostado,mermelada_de_frambuesa
@main
Hierve {dairy} con {spice}. => Boil {dairy} with {spice}.
Agrega {flakes} y cocina a fuego bajo durante {5|8|10} minutos. => Add {flakes} and cook over low heat for {5|8|10} minutes.
Endulza {dish} con {sweetener}. => Sweeten {dish} with {sweetener}.
Incorpora {main} con cuidado. => Stir in {main} carefully.
%topping
%serve

## granola: flakes=hojuelas_de_avena second=semillas_de_girasol,ajonjolí,semillas_de_chía sweetener=miel,panela,azúcar_moreno fat=aceite_de_girasol,mantequilla spice=sweet_spice garnish=coco_rallado,virutas_de_chocolate,fresas,arándanos,frambuesas,plátano side=leche,leche_de_almendras,bebida_de_avena,yogur_natural,jugo_de_naranja,crema_de_leche
%preheat
@main
Mezcla {flakes} con {second} y {main}. => Mix {flakes} with {second} and {main}.
Calienta {fat} con {sweetener} y {spice}. => Heat {fat} with {sweetener} and {spice}.
Vierte el almíbar sobre la mezcla y revuelve. => Pour the syrup over the mixture and stir.
Extiende {dish} en una bandeja y {hornea+dish} durante {20|25|30} minutos. => Spread {dish} on a baking tray and bake {it/them} for {20|25|30} minutes.
%cool
%topping
%serve

## toasts: bread=pan_de_centeno,pan_de_maíz,pan_tostado fat=aceite_de_oliva acid=acid salt=sal spice=pimienta_negra,orégano,pimentón second=rúcula,berros,pepino,espinacas garnish=herb,nut,ajonjolí,alcaparras side=jugo_de_naranja,papas_fritas,ensalada_verde,aceitunas
@main
&main
Tuesta {bread} en una sartén durante {2|3} minutos. => Toast {bread} in a skillet for {2|3} minutes.
Riega {bread} con {fat}. => Drizzle {bread} with {fat}.
Mezcla {main} con {acid}. => Mix {main} with {acid}.
Coloca {second} y {main} sobre {bread}. => Place {second} and {main} on {bread}.
%season
%topping
%serve

## scrambled: egg=huevo dairy=leche,crema_de_leche fat=mantequilla,aceite_de_oliva aromatic=cebolleta,chalote,cebolla salt=sal spice=pimienta_negra,pimentón,orégano,cúrcuma garnish=herb,queso_fresco,aguacate side=pan_tostado,pan_de_centeno,pan_de_maíz,frijoles_refritos,plátanos_fritos
@main
@aromatic
%sauté
Agrega {main} y cocina durante {3|4|5} minutos. => Add {main} and cook for {3|4|5} minutes.
Bate {egg} con {dairy}. => Beat {egg} with {dairy}.
%season
Vierte la mezcla en la sartén y revuelve a fuego bajo. => Pour the mixture into the skillet and stir over low heat.
%topping
%serve

# ---------------------------------------------------------------- panes

## bread: flour=harina,harina_integral yeast=levadura liquid=agua,leche sweetener=azúcar,miel,panela fat=aceite_de_oliva,mantequilla salt=sal garnish=ajonjolí,semillas_de_girasol,romero,orégano,tomillo,semillas_de_chía side=queso_crema,ricota,queso_fresco,mermelada_de_frambuesa,ensalada_verde
Disuelve {yeast} y {sweetener} en {liquid} {tibio~liquid}. => Dissolve {yeast} and {sweetener} in the warm {-liquid}.
Mezcla {flour} con {salt} y agrega {yeast}. => Mix {flour} with {salt} and add {yeast}.
Agrega {fat} y amasa durante {8|10|12} minutos. => Add {fat} and knead for {8|10|12} minutes.
@main
&main
Incorpora {main} a la masa. => Work {main} into the dough.
Tapa la masa y deja que repose durante {1 hora|2 horas}. => Cover the dough and let it rest for {1 hour|2 hours}.
%preheat
Forma {dish} y {coloca+dish} en una bandeja. => Shape {dish} and place {it/them} on a baking tray.
Antes de hornear, espolvorea {garnish} por encima. => Before baking, sprinkle {garnish} on top.
%bake_dish
%serve

# ---------------------------------------------------------------- bebidas

## smoothie: dairy=drink_milk sweetener=sweetener ?second=hojuelas_de_avena,plátano,fresas,semillas_de_chía,cacao spice=canela,esencia_de_vainilla,cardamomo,jengibre ice=hielo garnish=menta,hierbabuena,coco_rallado,virutas_de_chocolate,nut side=drink_side
@main
Coloca {main} en la licuadora con {dairy}. => Place {main} in the blender with {dairy}.
Agrega {second}. => Add {second}.
Endulza con {-sweetener} y agrega {spice}. => Sweeten with {-sweetener} and add {spice}.
Agrega {ice} y licúa durante {1 minuto|2 minutos}. => Add {ice} and blend for {1 minute|2 minutes}.
%serve_drink
%serve

## juice: liquid=agua sweetener=sweetener acid=jugo_de_limón ice=hielo garnish=drink_garnish side=drink_side
@main
Licúa {main} con {liquid}. => Blend {main} with {liquid}.
Cuela la mezcla en una jarra. => Strain the mixture into a pitcher.
Agrega {acid} y endulza con {-sweetener}. => Add {acid} and sweeten with {-sweetener}.
Agrega {ice} y revuelve. => Add {ice} and stir.
%serve_drink
%serve

## lemonade: acid=jugo_de_limón liquid=agua,agua_mineral sweetener=sweetener ice=hielo garnish=drink_garnish side=drink_side
@main
Tritura {main} con {sweetener}. => Crush {main} with {sweetener}.
Mezcla {acid} con {liquid} en una jarra. => Mix {acid} with {liquid} in a pitcher.
Agrega la fruta y revuelve bien. => Add the fruit and stir well.
Enfría {dish} con {ice}. => Chill {dish} with {ice}.
%serve_drink
%serve

## iced_tea: tea=té_negro sweetener=sweetener acid=jugo_de_limón,jugo_de_naranja ice=hielo garnish=drink_garnish side=drink_side
Prepara {tea} y deja que repose durante {5|8|10} minutos. => Prepare {tea} and let it steep for {5|8|10} minutes.
Endulza {tea} con {sweetener}. => Sweeten {tea} with {sweetener}.
@main
Agrega {main} y {acid}. => Add {main} and {acid}.
%chill
Llena los vasos con {ice}. => Fill the glasses with {ice}.
%serve_drink
%serve

## punch: second=citrus liquid=agua_mineral,té_negro sweetener=sweetener spice=canela,clavo_de_olor,anís,cardamomo ice=hielo garnish=menta,hierbabuena,albahaca,romero side=drink_side
@main
@second
Mezcla {main} y {second} con {sweetener} y {spice}. => Mix {main} and {second} with {sweetener} and {spice}.
Deja reposar la fruta durante {20|30} minutos. => Let the fruit rest for {20|30} minutes.
Vierte {liquid} y revuelve. => Pour in {liquid} and stir.
Agrega {ice} justo antes de servir. => Add {ice} just before serving.
%serve_drink
%serve

## infusion: liquid=agua spice=canela,clavo_de_olor,anís,cardamomo ginger=jengibre sweetener=sweetener garnish=menta,hierbabuena,romero,albahaca side=drink_side
@main
Hierve {liquid} con {spice} y {ginger}. => Boil {liquid} with {spice} and {ginger}.
Agrega {main}, apaga el fuego y tapa la olla. => Add {main}, turn off the heat and cover the pot.
Deja reposar {dish} durante {5|8|10} minutos. => Let {dish} steep for {5|8|10} minutes.
Cuela {dish} y {endulza+dish} con {sweetener}. => Strain {dish} and sweeten {it/them} with {sweetener}.
Sirve {dish} en tazas y agrega {garnish}. => Serve {dish} in cups and add {garnish}.
%serve
"""

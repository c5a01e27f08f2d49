"""Léxico del corpus de recetas: ingredientes, medidas, platos y categorías de las palabras.

Solo hay tablas; las lee ``recipes`` con la gramática de ``_grammar``. Cada renglón de una tabla se
separa con ``|``.
"""

# ruff: noqa: E501

# --------------------------------------------------------------------------- ingredientes
#
# grupo: español | género y número | inglés | medida
#
# Género m o f; después, número en español: nada, incontable; c, se cuenta por piezas (y va en
# plural si hay más de una); p, siempre en plural (y aquí se escribe así). El inglés va en singular;
# su número es el del español salvo que se escriba otro tras la barra: s, incontable; p, plural.

INGREDIENTS = """
# root
papa|fc|potato|piezas
camote|mc|sweet potato|piezas
zanahoria|fc|carrot|piezas
remolacha|fc|beet|piezas
nabo|mc|turnip|piezas
chayote|mc|chayote|piezas
yuca|f|cassava|gramos
calabaza|f|pumpkin|gramos

# bulb
cebolla|fc|onion|pocas
cebolla morada|fc|red onion|pocas
puerro|mc|leek|pocas
chalote|mc|shallot|piezas
cebolleta|fc|scallion|piezas

# garlic
ajo|m|garlic|dientes
jengibre|m|ginger|cucharadas
ají dulce|mc|sweet chili pepper|pocas

# vegetable
pimiento rojo|mc|red bell pepper|pocas
pimiento verde|mc|green bell pepper|pocas
pimiento amarillo|mc|yellow bell pepper|pocas
calabacín|mc|zucchini|pocas
berenjena|fc|eggplant|pocas
apio|m|celery|ramas
pepino|mc|cucumber|pocas
tomate|mc|tomato|piezas
brócoli|m|broccoli|gramos
coliflor|f|cauliflower|gramos
hinojo|m|fennel|gramos
repollo|m|cabbage|gramos
alcachofa|fc|artichoke|piezas
judías verdes|fp|green bean|gramos
espárragos|mp/s|asparagus|gramos

# legume_fresh
maíz dulce|m|sweet corn|gramos
arvejas|fp|pea|gramos
habas|fp|fava bean|gramos
palmitos|mp|palm heart|gramos
aceitunas|fp|olive|pocos_gramos
alcaparras|fp|caper|cucharadas

# leaf
espinacas|fp/s|spinach|gramos
acelga|f|chard|manojo
lechuga|f|lettuce|gramos
rúcula|f|arugula|gramos
col rizada|f|kale|gramos
berros|mp/s|watercress|gramos
endivias|fp|endive|gramos

# mushroom
champiñones|mp|mushroom|gramos
setas|fp|oyster mushroom|gramos

# meat
pollo|m|chicken|gramos_carne
pavo|m|turkey|gramos_carne
carne de res|f|beef|gramos_carne
cerdo|m|pork|gramos_carne
cordero|m|lamb|gramos_carne
ternera|f|veal|gramos_carne
conejo|m|rabbit|gramos_carne
pato|m|duck|gramos_carne
chivo|m|goat|gramos_carne

# minced
carne molida|f|ground beef|gramos_carne
pollo molido|m|ground chicken|gramos_carne
pavo molido|m|ground turkey|gramos_carne

# cured
jamón|m|ham|pocos_gramos
tocino|m|bacon|pocos_gramos
chorizo|m|chorizo|pocos_gramos
salchichas|fp|sausage|gramos

# fish
salmón|m|salmon|gramos_carne
atún|m|tuna|gramos_carne
bacalao|m|cod|gramos_carne
merluza|f|hake|gramos_carne
trucha|f|trout|gramos_carne
corvina|f|sea bass|gramos_carne
pargo|m|red snapper|gramos_carne
tilapia|f|tilapia|gramos_carne

# seafood
camarones|mp|shrimp|gramos
langostinos|mp|prawn|gramos
calamares|mp|squid|gramos
mejillones|mp|mussel|gramos
almejas|fp|clam|gramos
pulpo|m|octopus|gramos_carne
vieiras|fp|scallop|gramos

# pulse
lentejas|fp|lentil|tazas
garbanzos|mp|chickpea|tazas
frijoles negros|mp|black bean|tazas
frijoles rojos|mp|red bean|tazas
alubias blancas|fp|white bean|tazas
lentejas rojas|fp|red lentil|tazas

# grain
quinua|f|quinoa|tazas
cuscús|m|couscous|tazas
cebada|f|barley|tazas
trigo burgol|m|bulgur wheat|tazas
mijo|m|millet|tazas

# tofu
tofu|m|tofu|gramos

# hard_cheese
queso parmesano|m|Parmesan cheese|pocos_gramos
queso manchego|m|Manchego cheese|pocos_gramos
queso gruyer|m|Gruyère cheese|pocos_gramos
queso cheddar|m|cheddar cheese|pocos_gramos
mozzarella|f|mozzarella|pocos_gramos

# soft_cheese
ricota|f|ricotta|gramos
queso de cabra|m|goat cheese|pocos_gramos
queso azul|m|blue cheese|pocos_gramos
queso feta|m|feta cheese|pocos_gramos
queso fresco|m|fresh cheese|pocos_gramos
queso crema|m|cream cheese|pocos_gramos

# egg
huevo|mc|egg|varios

# fruit
mango|mc|mango|pocas
piña|fc|pineapple|una
plátano|mc|banana|pocas
manzana|fc|apple|pocas
pera|fc|pear|pocas
kiwi|mc|kiwi|piezas
papaya|fc|papaya|una
melón|mc|melon|una
sandía|f|watermelon|gramos
durazno|mc|peach|piezas
aguacate|mc|avocado|pocas
albaricoque|mc|apricot|piezas
ciruela|fc|plum|piezas
guayaba|fc|guava|piezas

# citrus
naranja|fc|orange|piezas
mandarina|fc|tangerine|piezas
toronja|fc|grapefruit|pocas

# berry
fresas|fp|strawberry|gramos
frambuesas|fp|raspberry|gramos
arándanos|mp|blueberry|gramos
moras|fp|blackberry|gramos
cerezas|fp|cherry|gramos
uvas|fp|grape|gramos
higos|mp|fig|gramos
grosellas|fp|currant|gramos

# nut
nueces|fp|walnut|pocos_gramos
almendras|fp|almond|pocos_gramos
avellanas|fp|hazelnut|pocos_gramos
pistachos|mp|pistachio|pocos_gramos
cacahuates|mp|peanut|pocos_gramos
piñones|mp|pine nut|pocos_gramos
semillas de girasol|fp|sunflower seed|pocos_gramos

# dried_fruit
pasas|fp|raisin|pocos_gramos
dátiles|mp|date|pocos_gramos
ciruelas pasas|fp|prune|pocos_gramos
orejones|mp|dried apricot|pocos_gramos

# herb
perejil|m|parsley|manojo
cilantro|m|cilantro|manojo
albahaca|f|basil|manojo
eneldo|m|dill|manojo
cebollín|m/p|chive|manojo
menta|f|mint|manojo
hierbabuena|f|spearmint|manojo
estragón|m|tarragon|manojo

# dry_herb
orégano|m|oregano|cucharaditas
tomillo|m|thyme|cucharaditas
romero|m|rosemary|cucharaditas
salvia|f|sage|cucharaditas
mejorana|f|marjoram|cucharaditas

# spice
comino|m|cumin|cucharaditas
pimentón|m|paprika|cucharaditas
cúrcuma|f|turmeric|cucharaditas
pimienta negra|f|black pepper|cucharaditas
curry|m|curry powder|cucharaditas
achiote|m|annatto|cucharaditas
azafrán|m|saffron|pizca
chile en polvo|m|chili powder|cucharaditas
nuez moscada|f|nutmeg|pizca

# sweet_spice
canela|f|cinnamon|cucharaditas
cardamomo|m|cardamom|cucharaditas
esencia de vainilla|f|vanilla extract|cucharaditas
anís|m|anise|cucharaditas
clavo de olor|m|clove powder|pizca

# seasoning
sal|f|salt|al_gusto

# broth
caldo de verduras|m|vegetable broth|litros
caldo de pollo|m|chicken broth|litros
caldo de pescado|m|fish broth|litros
agua|f|water|litros

# dairy
leche|f|milk|tazas
leche de coco|f|coconut milk|tazas
leche de almendras|f|almond milk|tazas
crema de leche|f|heavy cream|tazas
yogur natural|m|plain yogurt|tazas
bebida de avena|f|oat drink|tazas

# cooking_fat
aceite de oliva|m|olive oil|cucharadas
aceite de girasol|m|sunflower oil|cucharadas
aceite de maíz|m|corn oil|cucharadas
mantequilla|f|butter|cucharadas

# acid
jugo de limón|m|lemon juice|cucharadas
jugo de naranja|m|orange juice|cucharadas
vinagre de manzana|m|apple cider vinegar|cucharadas
vinagre balsámico|m|balsamic vinegar|cucharadas

# sweetener
azúcar|m|sugar|cucharadas
azúcar moreno|m|brown sugar|cucharadas
miel|f|honey|cucharadas
panela|f|raw cane sugar|cucharadas

# sauce
salsa de tomate|f|tomato sauce|tazas
salsa de soya|f|soy sauce|cucharadas
mostaza|f|mustard|cucharadas
mayonesa|f|mayonnaise|cucharadas
salsa blanca|f|white sauce|tazas

# pantry
harina|f|flour|tazas
harina de maíz|f|corn flour|tazas
harina integral|f|whole wheat flour|tazas
polvo de hornear|m|baking powder|cucharaditas
levadura|f|yeast|cucharaditas
maicena|f|cornstarch|cucharadas
gelatina sin sabor|f|unflavored gelatin|cucharaditas
leche condensada|f|condensed milk|tazas
cacao|m|cocoa|cucharadas
hojuelas de avena|fp|oat flake|tazas
pan rallado|m/p|breadcrumb|tazas
hielo|m|ice|tazas
agua mineral|f|sparkling water|litros
té negro|m|black tea|litros
tahini|m|tahini|cucharadas
arroz|m|rice|tazas

# dough
masa de hojaldre|f|puff pastry|gramos
masa quebrada|f|shortcrust pastry|gramos

# pasta
espaguetis|mp|spaghetti noodle|gramos
macarrones|mp|macaroni noodle|gramos
fideos|mp|noodle|gramos
láminas de lasaña|fp|lasagna sheet|gramos
discos de empanada|mp|empanada wrapper|gramos
tortillas de maíz|fp|corn tortilla|gramos
tortillas de trigo|fp|flour tortilla|gramos

# bread
pan tostado|m|toast|rebanadas
pan de centeno|m|rye bread|rebanadas
pan de ajo|m|garlic bread|rebanadas
pan de maíz|m|corn bread|rebanadas
galletas saladas|fp|cracker|pocos_gramos
crutones|mp|crouton|pocos_gramos
nachos|mp|nacho|pocos_gramos
palitos de ajonjolí|mp|sesame stick|pocos_gramos
baguette|f|baguette|rebanadas
casabe|m|cassava bread|rebanadas

# side
arroz blanco|m|white rice|tazas
puré de papa|m/p|mashed potato|tazas
papas fritas|fp|French fry|gramos
ensalada verde|f|green salad|tazas
plátanos fritos|mp|fried plantain|gramos
frijoles refritos|mp|refried bean|tazas
tostones de yuca|mp|cassava fritter|gramos

# dessert_side
helado de vainilla|m|vanilla ice cream|tazas
crema batida|f|whipped cream|tazas
salsa de chocolate|f|chocolate sauce|cucharadas
dulce de leche|m|caramel spread|cucharadas
galletas de vainilla|fp|vanilla cookie|pocos_gramos
mermelada de frambuesa|f|raspberry jam|cucharadas

# pastry
alfajores|mp|caramel cookie|pocos_gramos
rosquillas|fp|doughnut|pocos_gramos
churros|mp|churro|pocos_gramos
merengues|mp|meringue|pocos_gramos

# sweet_topping
coco rallado|m|shredded coconut|cucharadas
virutas de chocolate|fp|chocolate shaving|cucharadas
azúcar en polvo|m|powdered sugar|cucharadas
semillas de chía|fp|chia seed|cucharadas
ajonjolí|m/p|sesame seed|cucharadas

# chocolate
chocolate negro|m|dark chocolate|pocos_gramos
chocolate blanco|m|white chocolate|pocos_gramos
"""

# medida: unidad en singular | en plural | inglés singular | inglés plural | cantidades
# Sin unidad se cuenta por piezas; «½» se dice «media» o «medio», «half a».

MEASURES = """
piezas|||||2 3 4 5 6
pocas|||||1 2 3
una|||||1
varios|||||2 3 4
gramos||gramos de||grams of|200 250 300 400 500
pocos_gramos||gramos de||grams of|50 80 100 120 150
gramos_carne||gramos de||grams of|400 500 600 700 800
tazas|taza de|tazas de|cup of|cups of|½ 1 2 3
cucharadas|cucharada de|cucharadas de|tablespoon of|tablespoons of|1 2 3 4
cucharaditas|cucharadita de|cucharaditas de|teaspoon of|teaspoons of|½ 1 2
litros|litro de|litros de|liter of|liters of|½ 1 2
dientes|diente de|dientes de|clove of|cloves of|1 2 3 4
ramas|rama de|ramas de|stalk of|stalks of|1 2 3
rebanadas||rebanadas de||slices of|4 6 8
manojo|manojo de||bunch of||½ 1
pizca|pizca de||pinch of||1
"""

# Grupos que se nombran a menudo: un nombre y lo que reúne (grupos o ingredientes).

GROUPS = {
    "minced_or_cured": "minced chorizo jamón",
    "vegetable_soup": "root puerro brócoli coliflor tomate calabacín hinojo espinacas col_rizada "
    "champiñones setas arvejas maíz_dulce espárragos habas",
    "vegetable_stew": "root alcachofa coliflor berenjena calabacín setas judías_verdes repollo",
    "vegetable_bake": "calabacín berenjena brócoli coliflor espinacas acelga champiñones setas "
    "puerro espárragos alcachofa calabaza",
    "vegetable_roast": "calabacín berenjena coliflor brócoli espárragos root hinojo",
    "vegetable_salad": "tomate pepino zanahoria remolacha palmitos aguacate maíz_dulce "
    "judías_verdes espárragos alcachofa hinojo repollo",
    "vegetable_sauce": "tomate pimiento_rojo aguacate berenjena champiñones espinacas",
    "filling": "meat minced fish seafood vegetable_bake",
    "fruit_sweet": "mango piña plátano manzana pera papaya durazno albaricoque ciruela guayaba",
    "fruit_baked": "manzana pera durazno albaricoque ciruela piña plátano berry",
    "fruit_juice": "mango piña papaya melón sandía durazno guayaba kiwi citrus fresas frambuesas "
    "moras uvas arándanos",
    "salad_leaf": "lechuga rúcula berros endivias",
    "flour": "harina harina_integral",
    "creamy_dairy": "leche leche_de_coco crema_de_leche",
    "drink_milk": "leche leche_de_coco leche_de_almendras bebida_de_avena yogur_natural",
    "salad_topping": "nut dried_fruit aceitunas alcaparras semillas_de_chía ajonjolí",
    "sweet_garnish": "nut sweet_topping menta hierbabuena",
    "drink_garnish": "menta hierbabuena albahaca romero canela anís cardamomo",
    "oil": "aceite_de_oliva aceite_de_girasol aceite_de_maíz",
    "crumbly_cheese": "queso_de_cabra queso_azul queso_feta queso_fresco",
    "bread_side": "bread tortillas_de_maíz",
    "italian_side": "pan_de_ajo pan_de_centeno ensalada_verde baguette palitos_de_ajonjolí rúcula",
    "oven_side": "ensalada_verde pan_de_ajo puré_de_papa arroz_blanco baguette palitos_de_ajonjolí",
    "seasoned": "spice dry_herb",
    "soft_dessert_side": "dessert_side",
    "drink_side": "galletas_de_vainilla pastry pan_de_maíz pan_tostado palitos_de_ajonjolí",
    "spread_side": "bread papas_fritas tortillas_de_maíz tostones_de_yuca",
    "crepe_filling": "berry fruit_sweet chocolate",
    "white_liquid": "leche crema_de_leche",
}

# --------------------------------------------------------------------------- platos
#
# categoría: plato | género y número | inglés | enlace | método | ingredientes principales
#
# El enlace «de» da «sopa de lentejas», «lentil soup»; «con», «arroz con pollo», «rice with chicken».
# Número inglés tras la barra, como en los ingredientes.

DISHES = """
# sopa
sopa|f|soup|de|soup|vegetable_soup pulse meat seafood
crema|f|cream soup|de|cream_soup|vegetable_soup
caldo|m|clear soup|de|soup|meat fish seafood
potaje|m|potage|de|soup|pulse
sancocho|m|sancocho|de|soup|meat fish
chupe|m|chowder|de|milk_soup|seafood fish papa maíz_dulce
gazpacho|m|gazpacho|de|cold_soup|tomate pepino sandía melón remolacha aguacate
minestrone|f|minestrone|de|soup|pulse vegetable_stew
# guiso
guiso|m|stew|de|stew|meat pulse vegetable_stew
estofado|m|braise|de|stew|meat vegetable_stew
cazuela|f|casserole|de|stew|meat fish seafood pulse
fricasé|m|fricassee|de|stew|meat setas
curry|m|curry|de|curry|meat fish seafood tofu garbanzos lentejas_rojas vegetable_stew
encebollado|m|onion stew|de|stew|fish meat
ragú|m|ragout|de|stew|meat minced setas
chili|m|chili|de|stew|minced pulse pavo
tajín|m|tagine|de|stew|cordero pollo ternera vegetable_stew garbanzos
# ensalada
ensalada|f|salad|de|salad|vegetable_salad pulse grain pera manzana mango naranja fresas higos fish seafood pollo tofu huevo
ensaladilla|f|potato salad|de|mayo_salad|atún camarones pollo huevo jamón langostinos
ceviche|m|ceviche|de|ceviche|fish seafood champiñones palmitos mango
tabulé|m|tabbouleh|de|salad|grain coliflor
salpicón|m|salpicón|de|salad|pollo seafood pavo
# pasta
lasaña|f|lasagna|de|lasagna|filling
espaguetis|mp|spaghetti noodle|con|pasta|seafood vegetable_bake minced_or_cured pollo atún
macarrones|mp|macaroni noodle|con|pasta|minced_or_cured vegetable_bake pollo atún salmón
canelones|mp|cannelloni roll|de|cannelloni|filling
fideos|mp|noodle|con|noodles|meat seafood tofu vegetable_bake
# arroz
arroz|m/s|rice|con|rice|meat seafood fish vegetable_stew pulse
risotto|m|risotto|de|risotto|vegetable_bake seafood
paella|f|paella|de|rice|seafood meat vegetable_stew
arroz salteado|m/s|fried rice|con|fried_rice|meat seafood tofu jamón vegetable_bake
# horno
pizza|f|pizza|de|pizza|vegetable_bake cured atún mushroom pollo
empanadas|fp|empanada|de|empanadas|meat minced fish espinacas champiñones maíz_dulce
quiche|f|quiche|de|quiche|vegetable_bake cured salmón atún
tarta salada|f|savory tart|de|quiche|vegetable_bake soft_cheese pollo atún
suflé|m|soufflé|de|souffle|hard_cheese espinacas brócoli coliflor calabaza
budín|m|savory pudding|de|souffle|atún coliflor espinacas calabaza zanahoria maíz_dulce
gratín|m|gratin|de|gratin|root brócoli coliflor bacalao merluza vegetable_bake
asado|m|roast|de|roast|meat vegetable_roast
hojaldre|m|puff pastry pie|de|puff|meat minced fish vegetable_bake
# sartén
croquetas|fp|croquette|de|croquettes|pollo jamón bacalao atún setas espinacas camarones
albóndigas|fp|meatball|de|meatballs|minced
hamburguesas|fp|burger|de|patties|minced pulse quinua
tortitas|fp|fritter|de|fritters|calabacín zanahoria maíz_dulce papa coliflor espinacas brócoli
tortilla|f|omelet|de|omelette|papa espinacas champiñones calabacín espárragos jamón atún cebolla
milanesas|fp|breaded cutlet|de|breaded|pollo carne_de_res cerdo berenjena ternera merluza
brochetas|fp|skewer|de|skewers|meat camarones langostinos vieiras calamares pulpo tofu vegetable_roast salmón
salteado|m|stir-fry|de|stir_fry|meat seafood tofu vegetable_bake
# maíz
tacos|mp|taco|de|tacos|meat fish seafood minced setas tofu frijoles_negros
quesadillas|fp|quesadilla|de|quesadillas|pollo setas champiñones chorizo espinacas jamón calabacín
burritos|mp|burrito|de|burritos|meat minced frijoles_negros frijoles_rojos tofu
enchiladas|fp|enchilada|de|enchiladas|pollo pavo carne_de_res setas camarones espinacas
arepas|fp|arepa|de|arepas|pollo carne_de_res frijoles_negros hard_cheese chorizo atún
tamales|mp|tamale|de|tamales|pollo cerdo pavo calabaza frijoles_rojos
# salsa
salsa|f|sauce|de|sauce|vegetable_sauce pimiento_verde mango durazno
pesto|m|pesto|de|pesto|nut espinacas rúcula
hummus|m|hummus|de|hummus|garbanzos alubias_blancas lentejas_rojas remolacha calabaza
guacamole|m|guacamole|con|guacamole|mango tomate piña durazno
chutney|m|chutney|de|chutney|mango manzana pera tomate ciruela durazno
# postre
tarta|f|tart|de|tart|fruit_baked chocolate
pastel|m|cake|de|cake|fruit_baked zanahoria nut chocolate calabaza
bizcocho|m|sponge cake|de|cake|citrus nut chocolate arándanos plátano
galletas|fp|cookie|de|cookies|nut dried_fruit chocolate
flan|m|flan|de|flan|calabaza piña mango chocolate naranja
mousse|f|mousse|de|mousse|mango fresas chocolate frambuesas guayaba moras
helado|m/s|ice cream|de|ice_cream|mango berry fruit_sweet chocolate nut
sorbete|m|sorbet|de|sorbet|fruit_juice
compota|f|compote|de|compote|fruit_baked guayaba higos
mermelada|f/s|jam|de|compote|berry albaricoque durazno ciruela
gelatina|f/s|jelly|de|jelly|fruit_juice
natilla|f|custard|de|custard|chocolate naranja calabaza plátano
arroz con leche|m/s|rice pudding|con|rice_pudding|fruit_sweet berry dried_fruit nut
crumble|m|crumble|de|crumble|fruit_baked
trufas|fp|truffle|de|truffles|chocolate dátiles
barritas|fp|bar|de|bars|nut dried_fruit
# desayuno
panqueques|mp|pancake|de|pancakes|plátano manzana arándanos calabaza fresas
crepas|fp|crepe|de|crepes|crepe_filling
magdalenas|fp|muffin|de|cake|arándanos plátano manzana nut chocolate zanahoria naranja
avena|f/s|oatmeal|con|oatmeal|berry fruit_sweet dried_fruit nut
granola|f/s|granola|con|granola|nut dried_fruit
tostadas|fp|toast|con|toasts|aguacate tomate soft_cheese champiñones huevo salmón
huevos revueltos|mp|scrambled egg|con|scrambled|jamón tocino espinacas champiñones tomate chorizo
# pan
pan|m/s|bread|de|bread|nut calabaza aceitunas plátano papa dried_fruit
focaccia|f|focaccia|de|bread|aceitunas tomate cebolla romero
bollos|mp|roll|de|bread|papa maíz_dulce calabaza camote pasas
# bebida
batido|m|smoothie|de|smoothie|fruit_sweet berry aguacate
jugo|m/s|juice|de|juice|fruit_juice zanahoria remolacha manzana
limonada|f|lemonade|de|lemonade|berry mango piña sandía durazno
agua fresca|f|agua fresca|de|juice|fruit_juice pepino
té helado|m/s|iced tea|de|iced_tea|berry durazno mango citrus manzana
ponche|m|punch|de|punch|fruit_juice manzana pera
licuado|m|milkshake|de|smoothie|fruit_sweet fresas chocolate moras
infusión|f|infusion|de|infusion|manzana naranja mandarina fresas moras arándanos
"""

STYLES = """
casero|homemade
tradicional|traditional
fácil|easy
sencillo|simple
clásico|classic
especial|special
"""

# --------------------------------------------------------------------------- palabras
#
# La categoría de cada palabra de las plantillas. Donde una palabra tiene otra, la plantilla lo dice
# («fuego medio_ADJ»).

WORD_TAGS = {
    "DET": "alguna el la los las un una unas unos cada ninguna ningún otro otra muchas esta mi mis",
    "ADP": "de del a al en con sin por para durante hasta sobre según",
    "CCONJ": "y e o ni pero sino",
    "SCONJ": "que aunque cuando como",
    "NUM": "1 2 media dos cuatro seis ocho diez",
    "PRON": "lo le les me mí yo se todo todos nada nadie algo",
    "AUX": "es era sea sean sería ser fue está esté estaba estuviera haber había podría",
    "ADV": "no ya tan muy más menos mejor peor bien mucho poco casi siempre nunca jamás además ahora "
    "antes ayer anoche encima enseguida finamente justo junto lejos separado",
    "ADJ": "alto altos bajo blancas batido caliente cierto clara difícil dorado espesa espumosa fina finas "
    "falso firme fría frío grande grandes hirviendo hondo hondos húmedo imposible lento limpio lisa "
    "medianos pequeña pequeñas pequeños picado primera rallado segunda suave suaves tercera tibia "
    "tibio tierno nuevo última",
    "VERB": "abre anoté combina preparo acabó acompaña agrega aliña alterna amasa apaga aplasta arrepiento asa baja bate "
    "batiendo batir baña buscaba calienta cambiaría cierra cocina cocine cocino cociné coloca comer "
    "congela corta costó creía cuaje cubre cuece cuela da decora deja dejar dejaron dejó derrita derrite "
    "desmenuza dice dijeron dijo diría disuelva disuelve dobla dora doren dudo encontrar endulza "
    "enfriar enfría enfríe engrasa enjuaga enrolla ensarta envuelve equivocaron escurre espera "
    "esperaba espese espolvorea estira exprime extiende falla falta forma formar forra fríe guarda "
    "gustó hacer haya hierva hierve hornea hornear incorpora lava licúa limpia llena lleva machaca "
    "marina merece mezcla mide obtener parece pareció parecía pasa pela pensarlo pensé pica pide "
    "pidieron pincha pinta precalienta prepara preparado preparar prepare preparé probado prometía "
    "prueba pude quedar quedaría quede quedó quejaron quejó quiero quisieron quiso quita ralla raspa "
    "recomiendo refrigera rellena remoja reparte repetir reposar repose reserva resultó retira "
    "revolver revuelve riega saca salido salió saltea sazona seca seguí separa servir serví sigue "
    "sirve sobró sofríe tamiza tapa tardé tengo tenían tienen tiene tritura trocea tuesta usé valió veo "
    "vierte voltea volveré volvería vuelva faltó tuvo",
    "NOUN": "abuela aceite aderezo agua almuerzo almíbar bandeja bocado bolas bordes brocha capa "
    "capas caramelo casa cena claras cocción color contrario copas crema cubos cucharadas cuchillo "
    "cuidado cáscara dedos domingo ensaladera espinas espuma espátula familia fiesta final foto "
    "fracaso frasco fruta fuego fuente gajos ganas gracia grados grumos hermana hermano hijos hojas "
    "hora horas horno huevos invitados jarra lado letra licuadora láminas madera cuaderno libreta madre manos masa "
    "maíz mentira menudo mesa microondas minuto minutos mitad modo molde movimientos nieve nuez olla "
    "palillos papel paso pasta paño pena personas pie piel pizca plato platos principio problema "
    "punto puntos puré pérdida queja quejas razón receta refrigerador relleno rodajas sabor salsa "
    "sartén fibras semilla sábado tamaño tandas tazas tazón tenedor tiempo tiras trozos tía vapor "
    "vaso vasos vecina verdad vez vidrio yemas éxito",
    "PROPN": "maría",
}

# En nombres de ingredientes y platos la primera palabra es NOUN, y las demás que no estén aquí.

NAME_TAGS = {
    "ADP": "de sin con en",
    "ADJ": "amarillo azul balsámico batida blanca blancas blanco condensada dulce fresca fresco "
    "fritas fritos helado integral manchego mineral molida molido morada moreno moscada natural "
    "negra negro negros parmesano quebrada rallado refritos revueltos rizada rojas rojo rojos "
    "saladas salada salteado salteados tostado verde verdes",
}
